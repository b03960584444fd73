#include "judge/report/fleet_document.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "judge/report/report.h"

namespace assay::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeCell cell_at(const std::string& size, double slower) {
  NodeCell cell;
  cell.key = {"memory op=copy size=" + size, "bandwidth"};
  cell.unit = "bytes/s";
  cell.slower = slower;
  return cell;
}

/// Four nodes and two cells: "odd" is slower in one of them, and nothing varies in the other.
Fleet four_nodes() {
  Fleet fleet;
  fleet.nodes = 4;
  fleet.series = 2;
  for (const char* name : {"a", "b", "c"}) {
    fleet.rows.push_back({name, {cell_at("1GiB", 1.001), cell_at("4KiB", 0.99)}});
  }
  fleet.rows.push_back({"odd", {cell_at("1GiB", 1.25)}});
  fleet.odd = {{"odd", {cell_at("1GiB", 1.25)}, {}, {"memory op=copy size=4KiB bandwidth"}, {}}};
  return fleet;
}

TEST(FleetDocument, HasNodesAsRowsAndCellsAsColumns) {
  const Table table = fleet_table(four_nodes());
  std::vector<std::string> titles, keys;
  for (const Column& column : table.columns) {
    titles.push_back(column.title);
    keys.push_back(column.key);
  }
  EXPECT_THAT(titles, ElementsAre("node", "outlier", "size=1GiB", "size=4KiB"));
  EXPECT_THAT(table.shared, ElementsAre("all cells: memory op=copy", "metric: bandwidth"));
  EXPECT_EQ(keys[2], "memory op=copy size=1GiB bandwidth");
  EXPECT_FALSE(table.columns[2].detail);
  EXPECT_TRUE(table.columns[3].detail);  // no node is beyond the margin there
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(std::get<std::string>(table.rows[3][0]), "odd");
  EXPECT_EQ(std::get<std::string>(table.rows[3][1]), "yes");
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[3][2]), 0.25);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[3][3]));  // it lacks the cell
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[0][1]));
}

/// Cells of two benchmarks share nothing with each other, but those of one do.
TEST(FleetDocument, HeadingsLeaveOutWhatEachBenchmarkShares) {
  Fleet fleet = four_nodes();
  for (const char* shape : {"8", "9"}) {
    NodeCell cell = cell_at("", 1);
    cell.key.cell = fmt::format("gemm shape={} batch=1 dtype=f32", shape);
    fleet.rows[0].cells.push_back(cell);
  }
  const Table table = fleet_table(fleet);
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  EXPECT_THAT(titles, ElementsAre("node", "outlier", "gemm shape=8", "gemm shape=9",
                                  "memory size=1GiB", "memory size=4KiB"));
  EXPECT_THAT(table.shared, ElementsAre("all of gemm: batch=1 dtype=f32", "all of memory: op=copy",
                                        "metric: bandwidth"));
}

/// The map has the cells that vary only, frames outliers, and its data stand in a table.
TEST(FleetDocument, DrawsWhatVariesAndNamesOutliers) {
  const Document document = fleet_document(four_nodes(), "1 of 4 nodes is an outlier", "now");
  ASSERT_TRUE(document.picture.has_value());
  const Chart& chart = document.picture->chart;
  EXPECT_EQ(chart.kind, ChartKind::heat);
  ASSERT_EQ(chart.table.rows.size(), 4u);
  EXPECT_EQ(std::get<std::string>(chart.table.rows[3][3]), "outlier");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(chart.table.rows[0][3]));
  EXPECT_THAT(chart.summary, HasSubstr("from 0.0% less to 25.0% more time"));
  EXPECT_THAT(chart.summary, HasSubstr("Outliers: odd."));
  EXPECT_THAT(document.notes, ElementsAre("odd lacks memory op=copy size=4KiB bandwidth"));
  EXPECT_THAT(to_csv(document),
              HasSubstr("node,outlier,memory op=copy size=1GiB bandwidth,memory op=copy size=4KiB "
                        "bandwidth\r\n"));
  const std::string page = to_html(document);
  EXPECT_THAT(page, HasSubstr("Are these 4 nodes alike?"));
  EXPECT_THAT(page, HasSubstr("1 of 4 nodes is an outlier."));
}

TEST(FleetDocument, NeedsNoMapWhereNothingVaries) {
  Fleet fleet = four_nodes();
  fleet.rows.pop_back();
  fleet.odd.clear();
  const Document document = fleet_document(fleet, "All 3 nodes are alike", "now");
  EXPECT_FALSE(document.picture.has_value());
  EXPECT_EQ(document.chapters.size(), 1u);
}

}  // namespace
}  // namespace assay::report
