// Figures that others reported are those of their sources: each embedded reference against extracts
// of its source's tables, which this file reads on its own.
#include "judge/report/reference.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace assay::report {
namespace {

using ::testing::HasSubstr;

/// What a heading of an extract means: an axis or "device", or a metric with the factor to its
/// unit; and the axes that it sets besides.
struct Meaning {
  std::string name;
  double factor = 0;  ///< 0: an axis
  std::map<std::string, std::string> sets = {};
};

/// Headings by benchmark; those of "any" hold for all. Headings that are missing here are texts or
/// shares that the source derived from its other figures.
const std::map<std::string, std::map<std::string, Meaning>>& meanings() {
  static const std::map<std::string, std::map<std::string, Meaning>> all = {
      {"any", {{"GPU", {"device"}}, {"batch x seq", {"batch x sequence"}}}},
      {"gemm",
       {{"Matrix Size", {"shape"}},
        {"Shape", {"shape"}},
        {"Time (20 iter)", {"time_of_20", 1}},
        {"Time (ms)", {"time", 1e-3}},
        {"Throughput", {"flop_rate", 1e12}},
        {"TFLOPS", {"flop_rate", 1e12}},
        {"FP16 TFLOPS", {"flop_rate", 1e12, {{"dtype", "f16"}}}},
        {"BF16 TFLOPS", {"flop_rate", 1e12, {{"dtype", "bf16"}}}},
        {"matmul (hipBLASLt)", {"flop_rate", 1e12, {{"library", "hipblaslt"}}}},
        {"F.linear (rocBLAS)", {"flop_rate", 1e12, {{"library", "rocblas"}}}}}},
      {"train",
       {{"Model", {"model"}},
        {"size", {"model"}},
        {"Batch", {"batch"}},
        {"Batch Size", {"batch"}},
        {"Batch/GPU", {"batch"}},
        {"Seq Len", {"sequence"}},
        {"GPUs", {"ranks"}},
        {"precision", {"products"}},
        {"Total Time", {"time_of_100", 1}},
        {"Throughput", {"sample_rate", 1}},
        {"Time per Step", {"step_time", 1e-3}},
        {"ms/step", {"step_time", 1e-3}},
        {"ms", {"step_time", 1e-3}},
        {"Tokens/sec", {"token_rate", 1}},
        {"tok/s", {"token_rate", 1}},
        {"tok/s/GPU", {"token_rate_per_rank", 1}},
        {"TF", {"flop_rate_per_rank", 1e12}},
        {"TFLOPS", {"flop_rate_6n", 1e12}},
        {"Total TFLOPS", {"flop_rate_6n", 1e12}},
        {"TFLOPS/GPU", {"flop_rate_6n_per_rank", 1e12}},
        {"Memory", {"memory", 1e9}},
        {"Memory/GPU", {"memory", 1e9}},
        {"GB", {"memory", 1e9}},
        {"minutes", {"time_to_quality", 60}}}},
      {"finetune",
       {{"Mode", {"mode"}},
        {"kind", {"mode"}},
        {"model", {"model"}},
        {"program", {"program"}},
        {"Precision", {"products"}},
        {"precision", {"products"}},
        {"Step", {"step"}},
        {"Tokens/s/GPU", {"token_rate_per_rank", 1}},
        {"tok/s/GPU", {"token_rate", 1}},
        {"Total Tokens/s", {"token_rate", 1}},
        {"TF", {"flop_rate", 1e12}},
        {"H100 tok/s", {"token_rate", 1, {{"device", "NVIDIA H100"}}}},
        {"H200 tok/s", {"token_rate", 1, {{"device", "NVIDIA H200"}}}},
        {"Memory/GPU", {"memory", 1e9}},
        {"Loss", {"loss", 1}},
        {"minutes", {"time_to_quality", 60}}}},
      {"collective",
       {{"Message", {"size"}},
        {"message", {"size"}},
        {"peak bus bandwidth", {"bandwidth", 1e9}},
        {"busbw, GB/s", {"bandwidth", 1e9}},
        {"RCCL", {"bandwidth", 1e9}}}},
      {"rdma", {{"RDMA", {"bandwidth", 1e9 / 8}}}},
      {"peer", {{"by", {"library"}}, {"transfers", {"size"}}, {"achieving", {"bandwidth", 1e9}}}},
      {"throughput",
       {{"copy of", {"published"}},
        {"tokens in", {"random_input_len"}},
        {"tokens out", {"random_output_len"}},
        {"tok/s", {"output_throughput", 1}}}},
      {"serving",
       {{"precision", {"dtype"}},
        {"in flight", {"max_concurrency"}},
        {"tokens in", {"random_input_len"}},
        {"tokens out", {"random_output_len"}},
        {"output tok/s", {"output_throughput", 1}},
        {"median ITL, ms", {"median_itl", 1e-3}},
        {"BF16 output tok/s", {"output_throughput", 1, {{"dtype", "bf16"}}}},
        {"FP8 output tok/s", {"output_throughput", 1, {{"dtype", "fp8"}}}},
        {"BF16 total tok/s", {"total_token_throughput", 1, {{"dtype", "bf16"}}}},
        {"FP8 total tok/s", {"total_token_throughput", 1, {{"dtype", "fp8"}}}}}}};
  return all;
}

/// Words of sources and the values of assay's axes for them.
const std::map<std::string, std::string>& values() {
  static const std::map<std::string, std::string> all = {{"Small", "30M"},
                                                         {"Medium", "124M"},
                                                         {"Large", "354M"},
                                                         {"XL", "773M"},
                                                         {"BF16", "bf16"},
                                                         {"FP8", "fp8"},
                                                         {"FP4", "fp4"},
                                                         {"NF4", "nf4"},
                                                         {"Full Fine-tune", "full"},
                                                         {"full SFT", "full"},
                                                         {"LoRA Fine-tune", "lora"},
                                                         {"LoRA", "lora"},
                                                         {"Llama-3-8B", "llama3-8b"},
                                                         {"Qwen2.5-7B", "qwen2.5-7b"},
                                                         {"Surogate", "surogate"},
                                                         {"Unsloth", "unsloth"},
                                                         {"PyTorch", "torch"},
                                                         {"MPI", "mpi"},
                                                         {"AMD MI300X", "AMD Instinct MI300X"},
                                                         {"AMD MI350X", "AMD Instinct MI350X"},
                                                         {"AMD MI355X", "AMD Instinct MI355X"},
                                                         {"1MB", "1MiB"},
                                                         {"8MB", "8MiB"},
                                                         {"16GB", "16GiB"}};
  return all;
}

std::string without(std::string text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
  return text;
}

/// The value of an axis: "16384x8192x7168" for "(16384, 8192, 7168)", one number for a cube.
std::string axis_value(const std::string& axis, std::string text) {
  if (const auto known = values().find(text); known != values().end()) return known->second;
  if (axis == "size") return without(text, " ");
  if (axis != "shape") return text;
  text = without(without(without(text, "("), ")"), " ");
  std::ranges::replace(text, ',', 'x');
  const std::string edge = text.substr(0, text.find('x'));
  return text == edge + "x" + edge || text == edge + "x" + edge + "x" + edge ? edge : text;
}

/// The first number in the text: 950586 of "950,586", 491000 of "491k", 350 of "around 350 GB/s".
std::optional<double> number_in(const std::string& text) {
  const std::string plain = without(text, ",");
  const std::size_t begin = plain.find_first_of("0123456789");
  if (begin == std::string::npos) return std::nullopt;
  std::size_t length = 0;
  const double value = std::stod(plain.substr(begin), &length);
  return plain.substr(begin + length, 1) == "k" ? value * 1000 : value;
}

using Row = std::vector<std::string>;

Row cells_of(const std::string& line) {
  Row cells;
  std::istringstream stream(line.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    cell = without(without(cell, "*"), "~");
    const std::size_t begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

/// The tables of an extract, headings first, by the title above them. A table of "Metric" and
/// "Value" becomes one row.
std::map<std::string, std::vector<Row>> tables_of(const std::string& name) {
  std::map<std::string, std::vector<Row>> tables;
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/references/" + name + ".md");
  EXPECT_TRUE(file.is_open()) << name;
  std::string title;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) title = line.substr(3);
    if (line.starts_with("|") && !line.starts_with("|-")) tables[title].push_back(cells_of(line));
  }
  for (auto& [of, rows] : tables) {
    if (rows.front().front() != "Metric") continue;
    std::vector<Row> turned(2);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      turned[0].push_back(rows[i][0]);
      turned[1].push_back(rows[i][1]);
    }
    rows = turned;
  }
  return tables;
}

const Meaning* meaning_of(const std::string& benchmark, const std::string& heading) {
  for (const std::string& key : {benchmark, std::string("any")}) {
    const auto of = meanings().find(key);
    if (of == meanings().end()) continue;
    const auto found = of->second.find(heading);
    if (found != of->second.end()) return &found->second;
  }
  return nullptr;
}

bool has_axes(const Record& record, const std::map<std::string, std::string>& axes) {
  return std::ranges::all_of(axes, [&](const auto& axis) {
    const auto& [name, value] = axis;
    return name == "device" ? record.device.name == value : record.cell.text(name) == value;
  });
}

/// Compares a table's rows with its records and returns the number of figures found. Rates per
/// rank of several GPUs have names of their own.
std::size_t compare_table(const std::vector<Row>& rows, const std::vector<const Record*>& records) {
  std::size_t found = 0;
  const std::string benchmark = records.front()->cell.benchmark();
  for (std::size_t r = 1; r < rows.size(); ++r) {
    std::map<std::string, std::string> axes;
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      const Meaning* meaning = meaning_of(benchmark, rows[0][i]);
      if (meaning == nullptr || meaning->factor != 0) continue;
      if (meaning->name == "batch x sequence") {
        axes["batch"] = rows[r][i].substr(0, rows[r][i].find('x'));
        axes["sequence"] = rows[r][i].substr(rows[r][i].find('x') + 1);
      } else {
        axes[meaning->name] = axis_value(meaning->name, rows[r][i]);
      }
    }
    for (std::size_t i = 0; i < rows[0].size(); ++i) {
      const Meaning* meaning = meaning_of(benchmark, rows[0][i]);
      const auto number = number_in(rows[r][i]);
      if (meaning == nullptr || meaning->factor == 0 || !number) continue;
      std::map<std::string, std::string> wanted = axes;
      wanted.insert(meaning->sets.begin(), meaning->sets.end());
      std::vector<double> stored;
      for (const Record* record : records) {
        if (!has_axes(*record, wanted)) continue;
        for (const Metric& metric : record->metrics) {
          const bool per_rank = metric.name == meaning->name + "_per_rank" &&
                                record->cell.text("ranks") == "8" && rows[0][i].size() < 10;
          if (metric.name == meaning->name || per_rank) stored.push_back(metric.value);
        }
      }
      const std::string where = rows[0][i] + " of " + rows[r][0];
      EXPECT_EQ(stored.size(), 1u) << where;
      if (stored.size() != 1) continue;
      EXPECT_NEAR(stored[0], *number * meaning->factor, 1e-9 * stored[0]) << where;
      ++found;
    }
  }
  return found;
}

/// Every figure of every table is stored, and nothing else is.
TEST(Reference, FiguresAreThoseOfTheirSources) {
  const auto references = built_in_references();
  ASSERT_TRUE(references.ok()) << references.error().message;
  EXPECT_GE(references->size(), 10u);
  for (const Reference& reference : *references) {
    SCOPED_TRACE(reference.name);
    std::map<std::string, std::vector<const Record*>> by_table;
    for (const Record& record : reference.records) {
      by_table[record.source->file].push_back(&record);
    }
    std::size_t found = 0;
    const auto tables = tables_of(reference.name);
    for (const auto& [title, rows] : tables) {
      SCOPED_TRACE(title);
      const auto records = by_table.find(title);
      EXPECT_NE(records, by_table.end());
      if (records != by_table.end()) found += compare_table(rows, records->second);
    }
    EXPECT_EQ(tables.size(), by_table.size());
    EXPECT_EQ(found, reference.figures());
  }
}

TEST(Reference, SaysWhoReportedItAndWhen) {
  constexpr const char* text = R"(
name: small
who: Somebody
date: 2026-08
source: a page
device: MI300X
tables:
  - title: one
    program: RCCL
    benchmark: collective
    axes: {op: all_reduce}
    columns: [size, device, bandwidth (GB/s), memory (GB) aside]
    rows:
      - [1MiB, MI300X, 38.7, 2]
      - [2MiB, MI325X, 40, -]
)";
  const auto reference = parse_reference(text, "small.yaml");
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  EXPECT_EQ(reference->label("MI300X"), "small, MI300X (reported by Somebody, 2026-08)");
  EXPECT_EQ(reference->figures(), 3u);
  EXPECT_EQ(reference->devices(), (std::set<std::string>{"MI300X", "MI325X"}));
  const std::vector<Record> records = reference->of_device("MI300X");
  ASSERT_EQ(records.size(), 1u);
  const Record& first = records[0];
  EXPECT_EQ(first.cell.id(), "collective op=all_reduce size=1MiB");
  EXPECT_EQ(first.time, "2026-08-01T00:00:00Z");
  EXPECT_EQ(first.source->tool, "RCCL, reported by Somebody, 2026-08");
  EXPECT_EQ(first.metrics.at(0).value, 38.7e9);
  EXPECT_EQ(first.metrics.at(0).better, Better::higher);
  EXPECT_EQ(first.metrics.at(1).better, Better::neither);
}

TEST(Reference, ErrorsNameTheLine) {
  const auto wrong = [](const std::string& date, const std::string& columns,
                        const std::string& rows) {
    const auto read =
        parse_reference("name: a\nwho: b\ndate: " + date + "\nsource: c\ndevice: d\ntables:\n" +
                            "  - {title: t, program: p, benchmark: peer, columns: [" + columns +
                            "], rows: [" + rows + "]}\n",
                        "a.yaml");
    return read.ok() ? std::string() : read.error().message;
  };
  EXPECT_EQ(wrong("2026-08-01", "size, bandwidth (GB/s)", "[1MiB, 3]"), "");
  EXPECT_EQ(wrong("August", "size", "[1MiB]"),
            "a.yaml:3: bad date \"August\"; allowed: 2026-08-03, 2026-08, undated");
  EXPECT_THAT(wrong("undated", "bandwidth (furlongs)", "[3]"),
              HasSubstr("a.yaml:7: unknown unit \"furlongs\"; allowed: bytes/s,"));
  EXPECT_EQ(wrong("undated", "size, bandwidth (GB/s)", "[1MiB]"), "a.yaml:7: a row needs 2 values");
  EXPECT_EQ(wrong("undated", "bandwidth (GB/s)", "[fast]"),
            "a.yaml:7: \"fast\" must be a number above 0, or -");
  EXPECT_EQ(wrong("undated", "bandwidth (GB/s) sideways", "[3]"),
            "a.yaml:7: \" sideways\" after a unit; allowed: aside");
  EXPECT_EQ(wrong("undated", "size, bandwidth (GB/s)", "[1MiB, 3], [1MiB, 4]"),
            "a.yaml:7: d: peer size=1MiB bandwidth is given twice; add an axis that tells them "
            "apart");
}

}  // namespace
}  // namespace assay::report
