// hipblaslt-bench, rocblas-bench and hipblas-bench: a line of column names, and a line of values
// below it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"
#include "results/import/csv.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"

namespace assay::gemm_bench_importer {
namespace {

constexpr std::array<std::string_view, 3> libraries = {"hipblaslt", "rocblas", "hipblas"};

/// Returns "rocblas" for "...,rocblas-Gflops,us"; empty if the line does not consist of column
/// names.
std::string_view library_of_header(std::string_view line) {
  if (!contains(line, ",") || !contains(line, "us")) return {};
  for (const std::string_view library : libraries) {
    if (contains(line, fmt::format("{}-Gflops", library)) ||
        contains(line, fmt::format("{}-GB/s", library))) {
      return library;
    }
  }
  return {};
}

/// A column that belongs to the problem; `usual` is the default value, which is not shown.
struct Parameter {
  std::string_view column;
  std::string_view usual;
};
constexpr std::array<Parameter, 48> parameters = {{{"transA", ""},
                                                   {"transB", ""},
                                                   {"side", ""},
                                                   {"uplo", ""},
                                                   {"diag", ""},
                                                   {"grouped_gemm", "0"},
                                                   {"batch_count", "1"},
                                                   {"a2a_world", "1"},
                                                   {"a2a_extent", "0"},
                                                   {"M", ""},
                                                   {"N", ""},
                                                   {"K", ""},
                                                   {"m", ""},
                                                   {"n", ""},
                                                   {"k", ""},
                                                   {"a_type", ""},
                                                   {"b_type", ""},
                                                   {"c_type", ""},
                                                   {"d_type", ""},
                                                   {"compute_type", ""},
                                                   {"scaleA", "0"},
                                                   {"scaleB", "0"},
                                                   {"scaleC", "0"},
                                                   {"scaleD", "0"},
                                                   {"amaxD", "0"},
                                                   {"swizzle_a", "0"},
                                                   {"swizzle_b", "0"},
                                                   {"activation_type", "none"},
                                                   {"bias_vector", "0"},
                                                   {"bias_type", ""},
                                                   {"aux_type", ""},
                                                   {"alpha", "1"},
                                                   {"beta", "0"},
                                                   {"incx", "1"},
                                                   {"incy", "1"},
                                                   {"lda", ""},
                                                   {"ldb", ""},
                                                   {"ldc", ""},
                                                   {"ldd", ""},
                                                   {"stride_a", ""},
                                                   {"stride_b", ""},
                                                   {"stride_c", ""},
                                                   {"stride_d", ""},
                                                   {"stride_x", ""},
                                                   {"stride_y", ""},
                                                   {"rotating_buffer", "0"},
                                                   {"flush", "0"},
                                                   {"use_gpu_timer", "0"}}};

bool is_parameter(std::string_view column) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const Parameter& one) { return one.column == column; });
}

/// Whether a column is what was measured or checked, or how often.
bool is_result(std::string_view column) {
  constexpr std::array<std::string_view, 12> parts = {"Gflops", "flops",    "GB/s", "norm",
                                                      "error",  "atol",     "rtol", "iters",
                                                      "time",   "solution", "name", "index"};
  return column == "us" || column.ends_with("-us") || column.ends_with("_us") ||
         column == "soulution_index" ||  // sic
         std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(column, part); });
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "gemm-bench", "rocblas-bench"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (!draft_.is_full() && lines_.next(line)) {
      const std::string_view text = without_number(trim(line.text));
      if (const auto library = library_of_header(text); !library.empty()) {
        if (library != library_ && draft_.run_has_records()) draft_.next_run();
        library_ = library;
        draft_.run().tool = fmt::format("{}-bench", library);
        begin_table(text, line.number);
      } else if (table_.size() > 0 && contains(text, ",")) {
        row(text, line.number);
      } else {
        facts(text);
      }
    }
    return draft_.finish();
  }

 private:
  void begin_table(std::string_view text, std::size_t number) {
    constexpr std::size_t most_unknown = 16;
    table_ = CsvTable(fields_of(text));
    unknown_.clear();
    for (const std::string& column : table_.columns()) {
      if (column.empty() || is_parameter(column) || is_result(column)) continue;
      if (unknown_.size() == most_unknown) break;
      unknown_.push_back(column);
      if (told_.size() < most_unknown && told_.insert(column).second) {
        draft_.warn(number, fmt::format("the column {} is not known: rows that differ in it are "
                                        "taken for different cells",
                                        column));
      }
    }
  }

  /// Whether a column of the row repeats another one, or is about what is not used.
  bool says_nothing(std::string_view column, const CsvRow& row) const {
    const auto at = [&](std::string_view name) { return table_.at(row, name); };
    if (column == "ldd") return at("ldd") == at("ldc");
    if (column == "aux_type") return at("aux_type") == at("d_type");
    if (column == "bias_type") return at("bias_vector") == "0" || at("bias_type") == at("d_type");
    const std::string_view batches = at("batch_count");
    return column.starts_with("stride_") && (batches.empty() || batches == "1");
  }

  static std::vector<std::string> fields_of(std::string_view text) {
    CsvReader reader(text, ',');
    CsvRow row;
    return reader.next(row) ? std::move(row.fields) : std::vector<std::string>();
  }

  /// Removes the "[0]:" in front of each solution's column names.
  std::string_view without_number(std::string_view text) {
    const std::size_t close = text.starts_with('[') ? text.find(']') : text.npos;
    if (close == text.npos) return text;
    const auto number = parse_count(text.substr(1, close - 1));
    if (!number) return text;
    candidate_ = fmt::format("{}", *number);
    text = text.substr(close + 1);
    return text.starts_with(':') ? trim(text.substr(1)) : text;
  }

  void row(std::string_view text, std::size_t number) {
    CsvRow row;
    row.fields = fields_of(text);
    row.line = number;
    const auto at = [&](std::string_view column) { return table_.at(row, column); };
    const std::string_view rate = at(fmt::format("{}-Gflops", library_));
    const std::string_view bandwidth = at(fmt::format("{}-GB/s", library_));
    const auto flops = parse_number(rate), bytes = parse_number(bandwidth),
               time = parse_number(at("us"));
    // Other text between names and values has no numbers in these columns.
    if (row.fields.size() < 3 || (!flops && !bytes && !time)) return facts(text);
    if (row.fields.size() < table_.size() || !time) {
      draft_.warn(number, "the row is truncated, skipped");
      table_ = {};
      return;
    }
    std::vector<std::pair<std::string, std::string>> axes = {{"library", std::string(library_)}};
    for (const auto& [option, value] : options_) axes.emplace_back(option, value);
    for (const Parameter& parameter : parameters) {
      const std::string_view value = at(parameter.column);
      if (value.empty() || value == parameter.usual || says_nothing(parameter.column, row))
        continue;
      axes.emplace_back(identifier(parameter.column), value);
    }
    for (const std::string& column : unknown_) axes.emplace_back(identifier(column), at(column));
    if (solutions_ > 1 && !winner_) axes.emplace_back("candidate", candidate_);
    Record& record = draft_.add(Cell("blas", std::move(axes)), number);
    if (flops) {
      record.metrics.push_back(metric("flops", *flops * 1e9, "FLOP/s", Better::higher, rate));
    }
    if (bytes) {
      record.metrics.push_back(
          metric("bandwidth", *bytes * 1e9, "bytes/s", Better::higher, bandwidth));
    }
    record.metrics.push_back(metric("time", *time / 1e6, "s", Better::lower, at("us")));
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::string& column = table_.columns()[i];
      const bool error = contains(column, "norm") || contains(column, "error");
      if (error || column.ends_with("_iters")) note(record, identifier(column), row.fields[i]);
      if (column == "solution_index" || column == "soulution_index") {  // sic
        note(record, "solution_index", row.fields[i]);
      }
    }
    if (winner_) note(record, "winner", "yes");
    if (*time == 0) {  // with "inf" as its rate
      record.status = RecordStatus::failed;
      record.reason = "it took no time: nothing was measured";
    }
    table_ = {};
    winner_ = false;
  }

  void facts(std::string_view text) {
    if (text.starts_with("Winner")) winner_ = true;
    if (text.starts_with("Is supported")) {  // "Is supported 4 / Total solutions: 4"
      solutions_ = parse_count(after_label(text, "Total solutions")).value_or(0);
    }
    if (text.starts_with("Device ID 0 :")) {
      draft_.run().device = trim(text.substr(text.find(':') + 1));
    }
    for (const char* label : {"rocBLAS version", "hipBLASLt version"}) {
      const auto words = split_words(after_label(text, label), 1);
      if (text.starts_with(label) && !words.empty() && draft_.run().version.empty()) {
        draft_.run().version = words.front();
      }
    }
    const bool last = draft_.run_has_records();
    if (text.starts_with("--Solution index:") && last) {
      note(draft_.run_records()[draft_.run_size() - 1], "solution_index",
           after_label(text, "--Solution index"));
    }
    if (text.starts_with("--Solution name:") && last) {
      note(draft_.run_records()[draft_.run_size() - 1], "solution",
           after_label(text, "--Solution name"));
    }
    command(text);
  }

  /// Reads the command line, because rocblas-bench does not print its function and precision
  /// otherwise.
  void command(std::string_view text) {
    if (!contains(text, "blas-bench ") && !contains(text, "blaslt-bench ")) return;
    options_.clear();
    solutions_ = 0;
    const auto words = split_words(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "-f" || words[i] == "--function") {
        options_.emplace_back("function", words[i + 1]);
      }
      if (words[i] == "-r" || words[i] == "--precision") {
        options_.emplace_back("precision", words[i + 1]);
      }
    }
  }

  Draft draft_;
  LineReader lines_;
  CsvTable table_;                           // until its row was read
  std::vector<std::string> unknown_;         // columns of the table
  std::set<std::string, std::less<>> told_;  // columns of all tables
  std::string_view library_;
  std::string candidate_;
  std::vector<std::pair<std::string, std::string>> options_;
  std::uint64_t solutions_ = 0;
  bool winner_ = false;
};

class GemmBench final : public Importer {
 public:
  std::string_view name() const override { return "gemm-bench"; }
  std::string_view summary() const override {
    return "hipblaslt-bench, rocblas-bench, hipblas-bench";
  }
  int recognises(const ImportText& input) const override {
    for (const std::string_view library : libraries) {
      if (contains(input.text, fmt::format(",{}-Gflops", library)) ||
          contains(input.text, fmt::format(",{}-GB/s", library))) {
        return 85;
      }
    }
    return 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const GemmBench importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::gemm_bench_importer
