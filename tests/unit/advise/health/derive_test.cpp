// Limits from healthy nodes.
#include "advise/health/limits/derive.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "advise/health/limits/gates.h"
#include "advise/health/limits/limits.h"
#include "core/json.h"

namespace assay::health {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Record record(const Cell& cell, double value, int ordinal = 0) {
  Record record;
  record.run = "run";
  record.cell = cell;
  record.status = RecordStatus::passed;
  record.device.name = "Test GPU";
  record.device.ordinal = ordinal;
  Value measured;
  measured.quantity = cell.benchmark() == "launch" ? Quantity::latency : Quantity::bandwidth;
  measured.median = value;
  measured.interval95 = {value, value};
  record.value = measured;
  return record;
}

const Cell copy_cell("memory",
                     {{"op", "copy"}, {"dtype", "f64"}, {"size", "1GiB"}, {"cache", "hot"}});
const Cell launch_cell("launch", {{"metric", "graph_node"}});

/// Nodes with rates of 1000 GB/s times these factors.
std::vector<PopulationNode> nodes_with(const std::vector<double>& factors) {
  std::vector<PopulationNode> nodes;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    nodes.push_back({fmt::format("node{}", i), {record(copy_cell, 1e12 * factors[i])}});
  }
  return nodes;
}

TEST(DeriveLimits, OfFewNodesAreNormalOnLogTime) {
  const auto limits = derive_limits(nodes_with({0.98, 0.99, 1.00, 1.01, 1.02}), {0.05, 0.95});
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  ASSERT_EQ(limits->lines.size(), 1u);
  const DerivedLine& line = limits->lines[0];
  EXPECT_EQ(line.tolerance.order, 0u);
  // The mean of the logs is near 0 and their deviation 0.01581; the factor of the table is 4.203.
  EXPECT_NEAR(line.value, 1e12 * std::exp(-4.203 * 0.01581), 2e9);
  EXPECT_NEAR(line.median, 1e12, 1e3);
  EXPECT_NEAR(line.worst, 0.98e12, 1e3);
  EXPECT_EQ(limits->nodes_for_any_distribution, 59u);
  EXPECT_THAT(method_text(*limits), HasSubstr("54 more nodes would do without"));
}

TEST(DeriveLimits, OfManyNodesHoldForEveryDistribution) {
  std::vector<double> factors;
  for (int i = 0; i < 59; ++i) factors.push_back(1 + 0.001 * i);
  const auto limits = derive_limits(nodes_with(factors), {0.05, 0.95});
  EXPECT_EQ(limits->lines[0].tolerance.order, 1u);
  EXPECT_EQ(limits->lines[0].value, 1e12) << "the slowest";
  EXPECT_EQ(method_text(*limits).find("too few"), std::string::npos);
}

TEST(DeriveLimits, ANodeCountsByItsWorstGpuAndTheMedianOfItsRuns) {
  std::vector<PopulationNode> nodes = nodes_with({1, 1.01, 1.02});
  for (PopulationNode& node : nodes) {
    node.records.push_back(record(copy_cell, 0.5e12, 3));
    node.records.push_back(record(copy_cell, 0.5e12, 3));
    node.records.push_back(record(copy_cell, 0.1e12, 3));
    node.records.push_back(record(copy_cell, 2e12, 5));
  }
  const auto limits = derive_limits(nodes, {0.05, 0.95});
  EXPECT_NEAR(limits->lines[0].median, 0.5e12, 1e3);
}

TEST(DeriveLimits, TheRateIsDividedAmongTheLines) {
  std::vector<PopulationNode> nodes = nodes_with({1, 1.01, 1.02});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].records.push_back(record(launch_cell, 1e-6 * (1 + 0.01 * static_cast<double>(i))));
  }
  const auto limits = derive_limits(nodes, {0.05, 0.95});
  EXPECT_EQ(limits->per_line.rate, 0.025);
  EXPECT_DOUBLE_EQ(limits->per_line.confidence, 0.975) << "and so is the doubt";
  ASSERT_EQ(limits->lines.size(), 2u);
  EXPECT_EQ(limits->lines[0].better, Better::lower) << "launch comes first";
  EXPECT_GT(limits->lines[0].value, limits->lines[0].worst);
  EXPECT_LT(limits->lines[1].value, limits->lines[1].worst);
}

TEST(DeriveLimits, OutliersAreNamed) {
  const auto limits = derive_limits(
      nodes_with({1, 1.001, 0.999, 1.002, 0.998, 1.001, 0.999, 1, 1.001, 0.9}), {0.05, 0.95});
  EXPECT_THAT(limits->lines[0].outliers, ElementsAre("node9"));
}

TEST(DeriveLimits, NeedNodesOfOneKind) {
  const auto few = derive_limits(nodes_with({1, 1}), {});
  EXPECT_THAT(few.error().message, HasSubstr("at least 3 healthy ones, 1 more"));
  std::vector<PopulationNode> nodes = nodes_with({1, 1, 1});
  nodes[1].records[0].device.name = "Other GPU";
  EXPECT_THAT(derive_limits(nodes, {}).error().message, HasSubstr("Other GPU, Test GPU"));
  nodes = nodes_with({1, 1, 1});
  nodes[1].records[0].device.emulated = true;
  EXPECT_THAT(derive_limits(nodes, {}).error().message, HasSubstr("emulated"));
  nodes[1].records.clear();
  EXPECT_THAT(derive_limits(nodes, {}).error().message,
              HasSubstr("no cell was measured on 3 nodes"));
}

TEST(DerivedFiles, AreReadByThoseTheyAreFor) {
  const auto derived = derive_limits(nodes_with({0.98, 0.99, 1.00, 1.01, 1.02}), {0.05, 0.95});
  const auto limits = parse_limits(limits_yaml(*derived, "ours", "2026-11-29"), "ours.yaml");
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  EXPECT_EQ(limits->devices, std::vector<std::string>{"Test GPU"});
  ASSERT_EQ(limits->lines.size(), 1u);
  EXPECT_EQ(limits->lines[0].value, derived->lines[0].value);
  EXPECT_TRUE(matches(limits->lines[0], copy_cell));
  EXPECT_THAT(limits->lines[0].sample, HasSubstr("deviations of log time of 5 nodes"));

  const auto gates = parse_gates(limits_cvs(*derived, "2026-11-29"), "a_threshold.json");
  ASSERT_TRUE(gates.ok() && *gates);
  EXPECT_EQ((*gates)->count(GateState::gates), 1u);
  EXPECT_THAT(limits_plain(*derived, "2026-11-29"),
              HasSubstr("cache=hot\": {metric: bandwidth, min: 9.356"));
}

TEST(DeriveLimits, OfRunsPromiseNothingAboutOtherNodes) {
  DeriveRule rule{0.05, 0.95};
  rule.per_run = true;
  const auto limits = derive_limits(nodes_with({0.98, 0.99, 1.00, 1.01, 1.02}), rule);
  ASSERT_TRUE(limits.ok()) << limits.error().message;
  const std::string text = limits_yaml(*limits, "ours", "2026-12-01");
  EXPECT_THAT(text, HasSubstr("limits of 5 runs of healthy machines"));
  EXPECT_THAT(text, HasSubstr("at most 5% of further runs of these machines fail"));
  EXPECT_THAT(text, HasSubstr("--rate 5% --per-run"));
  EXPECT_THAT(text, Not(HasSubstr("node")));
  EXPECT_EQ(derive_limits(nodes_with({1, 1}), rule).error().message,
            "2 runs; limits need at least 3 of healthy machines, 1 more");
  rule.per_run = false;
  EXPECT_THAT(derive_limits(nodes_with({1, 1}), rule).error().message,
              HasSubstr("2 nodes; limits need at least 3 healthy ones, 1 more (--per-run takes"));
}

}  // namespace
}  // namespace assay::health
