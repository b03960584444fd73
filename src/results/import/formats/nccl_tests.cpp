// The output of nccl-tests and rccl-tests, of every version since 2.0: with or without header,
// device list and footer, and with output of launchers and libraries in between.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "results/import/collective.h"
#include "results/import/nccl_facts.h"
#include "results/import/nccl_guess.h"
#include "results/import/nccl_table.h"
#include "results/import/record_builder.h"

namespace assay::nccl_tests_importer {
namespace {

/// Settings on the "nThread" line that affect the measurement.
void note_settings(RunFacts& run, std::string_view line) {
  for (const char* key : {"nThread", "nGpus", "minBytes", "maxBytes", "step:", "warmup iters:",
                          "iters:", "agg iters:", "validation:", "graph:", "side_work:"}) {
    const std::string_view name(key);
    std::size_t at = line.find(name);
    // The plain "iters:" is the one that belongs neither to warm-up nor to aggregation.
    while (name == "iters:" && at != std::string_view::npos &&
           (line.substr(0, at).ends_with("warmup ") || line.substr(0, at).ends_with("agg "))) {
      at = line.find(name, at + 1);
    }
    if (at == std::string_view::npos) continue;
    const auto words = split_words(line.substr(at + name.size()), 1);
    if (!words.empty()) run.note(identifier(name), words.front());
  }
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : input_(input), draft_(input, "nccl-tests", "nccl-tests"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = without_tags(line.text, buffer_);
      if (is_nccl_row(text)) {
        row(text, line.number);
      } else {
        other(text, line.number);
      }
    }
    finish_run();
    return draft_.finish();
  }

 private:
  /// At the first lines of a new run: forgets what was known about the previous one, but not the
  /// program that was named since, because its command line comes before its head.
  void begin_run() {
    if (!draft_.run_has_records() && !seen_settings_) return;
    finish_run();
    draft_.next_run();
    columns_.clear();
    program_ = std::exchange(next_program_, {});
    group_ranks_ = highest_rank_ = 0;
    seen_ranks_ = seen_settings_ = seen_footer_ = fnuz_ = split_ = stopped_ = false;
    banner_.clear();
  }

  void other(std::string_view line, std::size_t number) {
    const bool settings = contains(line, "nThread") && contains(line, "minBytes");
    const bool starting = contains(line, "Collective test starting");
    const bool version = contains(line, "cl-tests version");
    const bool separator = trim(line).starts_with("=====");  // of a script with several programs
    if ((settings && seen_settings_) ||
        ((starting || version || separator) && draft_.run_has_records())) {
      begin_run();
    }
    if (separator) {
      if (const auto named = operation_in(line); !named.empty()) program_ = named;
      return;
    }
    auto columns = nccl_header(line);
    if (!columns.empty()) {
      if (draft_.run_has_records()) begin_run();
      columns_ = std::move(columns);
      return;
    }
    if (settings) {
      seen_settings_ = true;
      note_settings(draft_.run(), line);
    }
    facts(line);
    if (contains(line, "out-of-place") || contains(line, "in-place")) banner_ = line;
    footer(line, number);
  }

  void facts(std::string_view line) {
    RunFacts& run = draft_.run();
    if (contains(line, "rccl-tests") || contains(line, "RCCL version")) run.tool = "rccl-tests";
    name_program(line);
    if (contains(line, "FNUZ FP8")) fnuz_ = true;
    for (const char* marker :
         {"nccl-tests version ", "rccl-tests version ", "rccl-tests: Version "}) {
      const std::size_t at = line.find(marker);
      if (at == std::string_view::npos) continue;
      const auto words = split_words(line.substr(at + std::string_view(marker).size()), 4);
      if (!words.empty() && run.version.empty()) run.version = words.front();
      for (const std::string_view word : words) {
        if (const auto value = after_label(word, "-library"); !value.empty()) {
          run.note("library", value);
        }
      }
    }
    if (line.starts_with("NCCL version ")) run.note("nccl", line.substr(13));
    for (const char* label : {"RCCL version", "HIP version", "ROCm version", "Librccl path"}) {
      if (trim(line).starts_with(label)) {
        run.note(identifier(label), after_label(line, label));
      }
    }
    if (const auto rank = rank_line(line)) {
      seen_ranks_ = true;
      highest_rank_ = std::max(highest_rank_, rank->rank);
      split_ = split_ || rank->group != 0;  // only the first group's numbers are printed
      if (rank->group == 0) ++group_ranks_;
      if (run.device.empty()) run.device = rank->device;
      if (contains(rank->device, "AMD") || contains(rank->device, "Instinct")) {
        run.tool = "rccl-tests";
      }
      if (hosts_.size() < 400 && !contains(hosts_, rank->host)) {
        hosts_ += (hosts_.empty() ? "" : ",") + rank->host;
      }
    }
  }

  void name_program(std::string_view line) {
    // What ends a run names its program, too.
    for (const char* end : {"concluded", "failure", "noticed", "error", "exited"}) {
      if (contains(line, end)) return;
    }
    const std::string_view named = program_in(line);
    if (named.empty()) return;
    if (seen_settings_ || draft_.run_has_records()) {
      next_program_ = named;
      if (!program_.empty()) return;
    }
    program_ = named;
  }

  void footer(std::string_view line, std::size_t number) {
    // "node1: Test NCCL failure common.cu:1006 'unhandled cuda error'", of each rank.
    const std::size_t test = line.find("Test ");
    const std::string_view failure = line.substr(std::min(test, line.size()));
    if (!stopped_ && contains(failure, " failure ") &&
        (failure.starts_with("Test NCCL") || failure.starts_with("Test CUDA") ||
         failure.starts_with("Test HIP") || failure.starts_with("Test failure"))) {
      stopped_ = true;
      const std::string op = named_operation();
      std::vector<std::pair<std::string, std::string>> axes = {{"op", op.empty() ? "unknown" : op}};
      if (const std::uint64_t count = listed_ranks(); count > 0) {
        axes.emplace_back("ranks", fmt::format("{}", count));
      }
      Record& record = draft_.add(Cell("collective", std::move(axes)), number);
      record.status = RecordStatus::failed;
      record.reason = failure.substr(0, 200);
    } else if (contains(line, "Out of bounds values")) {
      seen_footer_ = true;
      failed_ = contains(line, "FAILED");
      if (failed_) reason_ = fmt::format("the run says: {}", trim(after_label(line, "values")));
    } else if (contains(line, "Avg bus bandwidth")) {
      seen_footer_ = true;
      const std::string_view value = after_label(line, "Avg bus bandwidth");
      draft_.run().note("average_busbw", value);
      if (contains(value, "FAILED")) {
        draft_.warn(number,
                    "the average bus bandwidth is below the limit that was set for the run");
      }
    }
  }

  void row(std::string_view line, std::size_t number) {
    if (seen_footer_) begin_run();  // rows of a run without its head
    const auto parsed = nccl_row(line, columns_);
    if (!parsed) {
      draft_.warn(number, "looks like a row but does not have the columns of its table, skipped");
      return;
    }
    for (int half = 1; half <= parsed->halves; ++half) add(*parsed, half, number);
    if (parsed->cut_halves > 0) {
      draft_.warn(number,
                  fmt::format("the row is truncated after {} of {} columns; {}",
                              parsed->words.size(), parsed->columns.size(),
                              parsed->halves == 0 ? "skipped" : "the complete half is kept"));
    }
  }

  void add(const NcclRow& parsed, int half, std::size_t number) {
    CollectiveRow row;
    row.cpu_time = parsed.text("time", half).empty();
    row.time = parsed.text(row.cpu_time ? "cputime" : "time", half);
    row.algbw = parsed.text("algbw", half);
    row.busbw = parsed.text("busbw", half);
    row.wrong = parsed.text("#wrong", half);
    row.error = parsed.text("error", half);
    row.type = parsed.text("type");
    row.redop = parsed.text("redop");
    row.root = parsed.text("root");
    row.place = place(parsed, half);
    const auto size = parse_count(parsed.text("size"));
    const auto count = parse_count(parsed.text("count"));
    if (!size || !count) {
      if (half == 1) draft_.warn(number, "its size or count is not a number, skipped");
      return;
    }
    row.size = *size;
    row.op = named_operation();
    row.ranks = ranks(row, *count);
    Record* record = add_collective(draft_, row, number, fnuz_);
    if (record == nullptr) {
      draft_.warn(number,
                  fmt::format("its {}-of-place values are not numbers, skipped", row.place));
      return;
    }
    finish(*record, parsed, half);
    table_.add(row, *count);
  }

  /// Adds what a row contains besides time and bandwidth.
  static void finish(Record& record, const NcclRow& parsed, int half) {
    for (std::size_t i = 0; i < parsed.words.size(); ++i) {
      const auto& [name, of] = parsed.columns[i];
      const std::string_view word = parsed.words[i];
      const auto value = parse_number(word);
      if (of == half && value &&
          (name == "hipevt" || name == "i_min" || name == "i_max" || name == "i_p99")) {
        record.metrics.push_back(metric(name == "hipevt" ? "event_time" : identifier(name),
                                        *value / 1e6, "s", Better::lower, word));
      } else if (of == half && value && name == "i_cv%") {
        record.metrics.push_back(metric("i_cv", *value / 1e2, "1", Better::lower, word));
      } else if (name == "timestamp") {
        record.time = word;  // local time of the machine, without a zone
      } else if (of == 0 && (name == "algo" || name == "proto" || contains(name, "channels"))) {
        note(record, name, word);
      }
    }
  }

  /// If there is only one half, only the banner above the header tells which one it is.
  std::string place(const NcclRow& parsed, int half) const {
    const bool two = std::any_of(parsed.columns.begin(), parsed.columns.end(),
                                 [](const NcclColumn& column) { return column.half == 2; });
    if (two) return half == 1 ? "out" : "in";
    return contains(banner_, "in-place") && !contains(banner_, "out-of-place") ? "in" : "out";
  }

  /// The operation that the run's lines or the file's name tell; empty if neither does.
  std::string named_operation() const {
    if (!program_.empty()) return std::string(program_);
    const std::size_t slash = input_.name.rfind('/');
    return std::string(operation_in(
        slash == std::string_view::npos ? input_.name : input_.name.substr(slash + 1)));
  }

  std::uint64_t listed_ranks() const {
    if (!seen_ranks_) return 0;
    return split_ ? group_ranks_ : highest_rank_ + 1;
  }

  /// From the list of devices. Without it, for operations that print the chunk of one rank as
  /// count, from how often the count fits into size.
  std::uint64_t ranks(const CollectiveRow& row, std::uint64_t count) const {
    if (seen_ranks_) return listed_ranks();
    const std::uint64_t bytes = collective_type_bytes(collective_type(row.type));
    if (count == 0 || count > row.size || row.size % (count * bytes) != 0) return 0;
    const std::uint64_t fits = row.size / (count * bytes);
    return fits > 1 ? fits : 0;
  }

  /// What the whole table tells of a run whose head is missing. Rows cannot be told apart by it:
  /// all of them are of one operation.
  void complete_cells() {
    const std::string op = table_.operation();
    for (std::size_t i = 0; i < draft_.run_size(); ++i) {
      Cell& cell = draft_.run_records()[i].cell;
      auto axes = cell.values();
      const auto named = [&](std::string_view name) {
        return std::find_if(axes.begin(), axes.end(),
                            [&](const auto& axis) { return axis.first == name; });
      };
      const auto operation = named("op");
      const auto size = named("size");
      if (operation == axes.end() || size == axes.end()) continue;
      if (operation->second == "unknown" && !op.empty()) operation->second = op;
      const std::uint64_t count = table_.ranks(operation->second);
      if (named("ranks") == axes.end() && count > 0) {
        const auto before = named("timing");
        axes.insert(before == axes.end() ? size : before, {"ranks", fmt::format("{}", count)});
      }
      cell = Cell("collective", std::move(axes));
    }
    table_ = {};
  }

  void finish_run() {
    complete_cells();
    draft_.run().note("hosts", hosts_);
    hosts_.clear();
    if (failed_) {
      Record* records = draft_.run_records();
      const std::size_t size = draft_.run_size();
      const bool known = std::any_of(records, records + size, [](const Record& record) {
        return record.status == RecordStatus::failed && !record.metrics.empty();
      });
      // Failed rows are already marked, unless the validation column is missing: then any row may
      // have failed.
      for (std::size_t i = 0; !known && i < size; ++i) {
        if (records[i].status != RecordStatus::passed) continue;
        records[i].status = RecordStatus::failed;
        records[i].reason = reason_;
      }
    }
    failed_ = false;
  }

  ImportText input_;
  Draft draft_;
  LineReader lines_;
  std::string buffer_, banner_, reason_, hosts_;
  std::vector<NcclColumn> columns_;
  std::string_view program_;       // of this run
  std::string_view next_program_;  // named after this run's head: if another run begins, of that
  NcclTableGuess table_;
  std::uint64_t highest_rank_ = 0, group_ranks_ = 0;
  bool seen_ranks_ = false, seen_settings_ = false, seen_footer_ = false;
  bool fnuz_ = false, failed_ = false, split_ = false, stopped_ = false;
};

class NcclTests final : public Importer {
 public:
  std::string_view name() const override { return "nccl-tests"; }
  std::string_view summary() const override {
    return "tables of nccl-tests and rccl-tests, of any version";
  }
  int recognises(const ImportText& input) const override {
    if (contains(input.text, "nThread") && contains(input.text, "minBytes") &&
        !trim(input.text.substr(0, 64)).starts_with('{')) {
      return 95;
    }
    LineReader lines(input.text);
    TextLine line;
    std::string buffer;
    while (lines.next(line)) {
      if (line.number > 20'000) return 0;
      const std::string_view text = without_tags(line.text, buffer);
      if (!nccl_header(text).empty()) return 90;
      if (is_nccl_row(text) && nccl_row(text, {})) return 70;
    }
    return 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const NcclTests importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::nccl_tests_importer
