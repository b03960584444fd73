#include "judge/report/charts/partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/json.h"
#include "judge/compare/emulated.h"
#include "judge/report/charts/charts.h"
#include "judge/report/number_text.h"
#include "results/store/json_reader.h"
#include "statistics/summary.h"

namespace assay::report {
namespace {

struct Ratio {
  double ratio = 1;
  std::optional<Interval> interval95;  ///< of a single pair there is none
};

struct Part {
  std::string environment;
  double each = 0, together = 0;
  Ratio interference;
};

struct StudyCell {
  std::string cell, metric, unit, worst;
  Better better = Better::higher;
  std::optional<double> sum, whole;
  std::vector<Part> parts;
};

Result<Ratio> read_ratio(const JsonReader& json) {
  Ratio ratio;
  ratio.ratio = TRY(json.number("ratio"));
  const Json* interval = json.find("interval95");
  if (interval == nullptr || !interval->is_array() || interval->size() != 2 ||
      !(*interval)[0].is_number()) {
    return json.wrong("interval95", "must be two numbers, or 0 and null after a single pair");
  }
  if ((*interval)[1].is_number()) {
    ratio.interval95 = {(*interval)[0].get<double>(), (*interval)[1].get<double>()};
  }
  return ratio;
}

Result<StudyCell> read_cell(const Json& item) {
  const JsonReader json = TRY(JsonReader::of(item, "study"));
  StudyCell cell;
  cell.cell = TRY(json.text("cell"));
  cell.metric = TRY(json.text("metric"));
  cell.unit = TRY(json.text("unit"));
  cell.better = TRY(json.one_of("better", Better::higher, Better::neither));
  TRY(json.optional("worst", cell.worst));
  TRY(json.optional("sum", cell.sum));
  TRY(json.optional("whole", cell.whole));
  const Json* parts = json.find("parts");
  if (parts == nullptr || !parts->is_array()) return json.wrong("parts", "must be an array");
  for (const Json& item_part : *parts) {
    const JsonReader reader = TRY(JsonReader::of(item_part, "study.parts"));
    Part part;
    part.environment = TRY(reader.text("environment"));
    part.each = TRY(reader.number("each"));
    part.together = TRY(reader.number("together"));
    const JsonReader interference = TRY(reader.object("interference"));
    part.interference = TRY(read_ratio(interference));
    cell.parts.push_back(std::move(part));
  }
  return cell;
}

/// Reads the study's cells that can be read.
std::vector<StudyCell> cells_of(const ReportInput& input) {
  std::vector<StudyCell> cells;
  if (!input.study.is_array()) return cells;
  for (const Json& item : input.study) {
    auto cell = read_cell(item);
    if (cell.ok()) cells.push_back(std::move(cell).value());
  }
  return cells;
}

Table table_of(const std::vector<StudyCell>& cells) {
  Table table;
  table.id = "partitions-table";
  table.caption = "Partitions alone, together and as a sum";
  table.columns = {{"cell", "cell"},
                   {"metric", "metric"},
                   {"unit", "unit", ColumnKind::unit},
                   {"partition", "partition"},
                   {"each", "alone", ColumnKind::measured},
                   {"together", "together", ColumnKind::measured},
                   {"interference", "together over alone", ColumnKind::number, "1"},
                   {"low", "95% low", ColumnKind::number, "1", 1, "", true},
                   {"high", "95% high", ColumnKind::number, "1", 1, "", true},
                   {"worst", "worst"},
                   {"sum", "sum together", ColumnKind::measured},
                   {"whole", "whole device", ColumnKind::measured}};
  for (const StudyCell& cell : cells) {
    for (const Part& part : cell.parts) {
      const auto& interval = part.interference.interval95;
      table.rows.push_back(
          {cell.cell, cell.metric, cell.unit, part.environment, part.each, part.together,
           part.interference.ratio, interval ? Field(interval->low) : Field(),
           interval ? Field(interval->high) : Field(),
           std::string(part.environment == cell.worst ? "worst" : ""),
           cell.sum ? Field(*cell.sum) : Field(), cell.whole ? Field(*cell.whole) : Field()});
    }
  }
  return table;
}

/// Returns a series of the cell, for its axes; null if no result has the cell.
const Series* series_of(const std::string& cell, const std::vector<Environment>& environments) {
  for (const Environment& environment : environments) {
    for (const Series& series : environment.results.series) {
      if (series.key.cell == cell) return &series;
    }
  }
  return nullptr;
}

/// Returns whether the partitions belong to an emulated device.
bool of_model(const ReportInput& input) {
  return std::ranges::any_of(input.environments, [](const Environment& environment) {
    return environment.results.emulated();
  });
}

/// Returns charts of the sum over partitions and of the whole device, drawn as two environments.
std::vector<Chart> sum_charts(const std::vector<StudyCell>& cells, const ReportInput& input) {
  std::vector<Environment> sides(2);
  const std::string mark = of_model(input) ? " (model)" : "";
  const std::vector<std::string> names = {"sum of the partitions" + mark, "whole device" + mark};
  for (const StudyCell& cell : cells) {
    const Series* known = series_of(cell.cell, input.environments);
    if (known == nullptr) continue;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const std::optional<double>& value = i == 0 ? cell.sum : cell.whole;
      if (!value) continue;
      Series series = *known;
      series.key.metric = cell.metric;
      series.unit = cell.unit;
      series.better = cell.better;
      series.roof.reset();  // it is the roof of one partition
      series.points = {{0, *value, *value, *value, 0, 0}};
      sides[i].results.series.push_back(std::move(series));
    }
  }
  std::vector<Chart> charts;
  for (const Panel& panel : panels_of(sides)) {
    auto chart = curve_chart(panel, names);
    if (!chart) continue;
    chart->title = "Sum of the partitions: " + chart->title;
    chart->table.caption = chart->title;
    charts.push_back(std::move(*chart));
  }
  return charts;
}

/// Returns the sum of all partitions over what one of them reaches alone, on average.
double times_one(const StudyCell& cell) {
  double alone = 0;
  for (const Part& part : cell.parts) alone += part.each;
  alone /= static_cast<double>(cell.parts.size());
  return alone > 0 ? *cell.sum / alone : 0;
}

/// Returns the cell whose partitions together reach the least, in terms of one alone; null if none
/// has a sum.
const StudyCell* sum_below_all(const std::vector<StudyCell>& cells) {
  const StudyCell* least = nullptr;
  for (const StudyCell& cell : cells) {
    if (cell.sum && (least == nullptr || times_one(cell) < times_one(*least))) least = &cell;
  }
  return least;
}

/// Returns "8 partitions together reach 7.4 times what one reaches alone, 3.9 TB/s in memory ...,
/// 98% of the whole device".
std::string sum_sentence(const StudyCell& cell) {
  std::string text = fmt::format(
      "{} partitions together reach {:.2f} times what one reaches alone, "
      "{} in {}",
      cell.parts.size(), times_one(cell), quantity_text(*cell.sum, cell.unit), cell.cell);
  if (cell.whole && *cell.whole > 0) {
    text += fmt::format(", {:.0f}% of the whole device's {}", 100 * *cell.sum / *cell.whole,
                        quantity_text(*cell.whole, cell.unit));
  }
  return text;
}

}  // namespace

std::string study_answer(const ReportInput& input) {
  const std::vector<StudyCell> cells = cells_of(input);
  const StudyCell* worst_cell = nullptr;
  const Part* worst = nullptr;
  double worst_speed = 0;  // together over alone
  for (const StudyCell& cell : cells) {
    for (const Part& part : cell.parts) {
      const double speed =
          cell.better == Better::higher ? part.interference.ratio : 1 / part.interference.ratio;
      if (worst != nullptr && speed >= worst_speed) continue;
      worst_cell = &cell;
      worst = &part;
      worst_speed = speed;
    }
  }
  if (worst == nullptr) return "Nothing can be said.";
  const std::optional<Interval>& interval = worst->interference.interval95;
  const bool is_rate = worst_cell->better == Better::higher;
  const bool proven = interval && (is_rate ? interval->high < 1 : interval->low > 1);
  std::string least = fmt::format("{} {:.1f}% of its {} ({}: {}, {})",
                                  proven ? "beside the others, a partition keeps at least"
                                         : "no loss to the others is proven: the slowest keeps",
                                  100 * worst->interference.ratio, is_rate ? "rate" : "own latency",
                                  interval ? fmt::format("95% interval {:.1f}% to {:.1f}%",
                                                         100 * interval->low, 100 * interval->high)
                                           : "a single pair",
                                  worst->environment, worst_cell->cell);
  const std::string model = of_model(input) ? std::string(of_a_model) : "";
  const auto summed = worst_cell->sum ? worst_cell : sum_below_all(cells);
  if (summed == nullptr) {
    least[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(least[0])));
    return model + least + ".";
  }
  return model + sum_sentence(*summed) + "; " + least + ".";
}

std::optional<Chapter> partitions_chapter(const ReportInput& input) {
  const std::vector<StudyCell> cells = cells_of(input);
  if (cells.empty()) return std::nullopt;
  Chapter chapter{"partitions", "Partitions side by side", "Partitions"};
  chapter.paragraphs = {
      "Each partition was measured alone and together with all others. Together over alone is the "
      "interference: for a rate, below 1 means that it suffers from its neighbours. The sum is of "
      "rates only; latencies do not add up."};
  if (of_model(input)) {
    chapter.paragraphs.insert(chapter.paragraphs.begin(),
                              "The device is emulated: every value comes from a model.");
  }
  for (Chart& chart : sum_charts(cells, input)) chapter.blocks.emplace_back(std::move(chart));
  chapter.blocks.emplace_back(table_of(cells));
  return chapter;
}

}  // namespace assay::report
