// OSU micro-benchmarks: tables by message size, of MPI with or without device memory, of NCCL and
// RCCL, from version 3 on.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "core/units.h"
#include "results/import/record_builder.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay::osu_importer {
namespace {

/// The columns of "# Size       Avg Latency(us)   Min Latency(us)  Iterations": a name of several
/// words ends with its unit.
std::vector<std::string> columns_of(std::string_view line) {
  constexpr std::array<std::string_view, 5> single = {"Size", "MB/s", "Messages/s", "Iterations",
                                                      "Validation"};
  std::vector<std::string> columns;
  std::string name;
  for (const std::string_view word : split_words(line, 64)) {
    if (word == "#") continue;
    name += name.empty() || word.starts_with('(') ? "" : " ";
    name += word;
    const bool whole = std::find(single.begin(), single.end(), name) != single.end();
    if (!whole && !name.ends_with(')')) continue;
    columns.push_back(std::move(name));
    name.clear();
  }
  return name.empty() ? columns : std::vector<std::string>();
}

/// "Avg Latency(us)" and, before version 7, "Latency(us)" are the same.
std::optional<Metric> metric_of(std::string_view column, std::string_view word) {
  const auto value = parse_number(word);
  const std::size_t open = column.find('(');
  if (!value) return std::nullopt;
  if (column == "Messages/s") return metric("message_rate", *value, "1/s", Better::higher, word);
  const bool bare = column == "MB/s";
  if (open == column.npos && !bare) return std::nullopt;
  const auto unit =
      measured_unit(bare ? column : column.substr(open + 1, column.size() - open - 2));
  if (!unit) return std::nullopt;
  std::string name = bare ? "bandwidth" : identifier(column.substr(0, open));
  if (name == "latency" || name == "avg_latency") name = "mean_latency";
  if (name.ends_with("_tail_lat")) name.replace(name.size() - 9, 9, "_latency");
  // "Compute" is how long the test itself kept the CPU busy while messages were under way.
  const Better better = name == "compute" ? Better::neither
                        : unit->si == "s" ? Better::lower
                                          : Better::higher;
  return metric(name, to_si(*value, unit->factor), unit->si, better, word);
}

/// Whether the line tells a setting that makes other cells: of one-sided tests how the window is
/// made and when it is synchronized, of others the threads or processes of each side.
bool setting_of(std::string_view line) {
  return line.starts_with("# Window creation:") || line.starts_with("# Synchronization:") ||
         line.starts_with("# Number of ");
}

using Axes = std::vector<std::pair<std::string, std::string>>;

/// Sets an axis. Every row has a copy of all, so they are few.
void put(Axes& axes, const std::string& name, std::string value) {
  constexpr std::size_t most_axes = 16;
  const auto known =
      std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.first == name; });
  if (known != axes.end()) {
    known->second = std::move(value);
  } else if (axes.size() < most_axes) {
    axes.emplace_back(name, std::move(value));
  }
}

class Reader {
 public:
  explicit Reader(const ImportText& input)
      : draft_(input, "osu", "OSU micro-benchmarks"), lines_(input.text) {}

  Result<Imported> read() {
    TextLine line;
    while (lines_.next(line)) {
      const std::string_view text = trim(line.text);
      if (text.starts_with("# OSU ")) {
        title(text);
      } else if (text.starts_with('#')) {
        comment(text);
      } else if (!columns_.empty()) {
        row(text, line.number);
      }
    }
    return draft_.finish();
  }

 private:
  /// "# OSU MPI-CUDA Allreduce Latency Test v7.5", "# OSU MPI_Put Latency Test v5.7.1"
  void title(std::string_view text) {
    if (draft_.run_has_records()) draft_.next_run();
    columns_.clear();
    axes_.clear();
    last_size_ = 0;
    const auto words = split_words(text, 24);
    // "MPI", "MPI-CUDA", "MPI-ROCM", "NCCL", "OpenSHMEM"; of one-sided tests the call, "MPI_Put"
    std::string library = words.size() > 2 ? lower_case(words[2]) : "mpi";
    std::string test;
    if (const std::size_t call = library.find('_'); call != library.npos) {
      const std::size_t memory = std::min(library.find('-'), library.size());
      test = library.substr(call + 1, memory - call - 1) + " ";
      library.erase(call, memory - call);
    }
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::string_view word = words[i];
      const bool version = word.size() > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9';
      if (version) {
        draft_.run().version = word.substr(1);
      } else if (word != "Test") {
        test += std::string(word) + " ";
      }
    }
    axes_.emplace_back("test", identifier(test));
    const std::size_t dash = library.find('-');
    if (library.substr(0, dash) != "mpi") axes_.emplace_back("library", library.substr(0, dash));
    if (dash != library.npos) axes_.emplace_back("memory", library.substr(dash + 1));
    axes_.insert(axes_.end(), early_.begin(), early_.end());
    early_.clear();
  }

  void comment(std::string_view text) {
    if (text.starts_with("# Datatype:")) {
      draft_.run().note("datatype", after_label(text, "# Datatype"));
    } else if (contains(text, "Send Buffer on ") && contains(text, "Receive Buffer on ")) {
      const auto buffer = [&](std::string_view label) {
        const auto words = split_words(text.substr(text.find(label) + label.size()), 1);
        return words.empty() ? std::string("unknown") : lower_case(words.front());
      };
      put(axes_, "send", buffer("Send Buffer on "));
      put(axes_, "receive", buffer("Receive Buffer on "));
    } else if (contains(text, "pairs:")) {  // "# [ pairs: 4 ] [ window size: 64 ]"
      for (const char* setting : {"pairs", "window size"}) {
        const auto words = split_words(after_label(text, setting), 1);
        if (!words.empty()) put(axes_, identifier(setting), std::string(words.front()));
      }
    } else if (const std::size_t colon = text.find(": "); setting_of(text) && colon != text.npos) {
      // What is told of threads stands above the title, or below it and above all rows.
      auto& axes = axes_.empty() || seen_rows() ? early_ : axes_;
      put(axes, identifier(text.substr(2, colon - 2)), std::string(trim(text.substr(colon + 2))));
    } else if (auto columns = columns_of(text); !columns.empty()) {
      columns_ = std::move(columns);
    }
  }

  void row(std::string_view text, std::size_t number) {
    const auto words = split_words(text, 64);
    if (words.empty() || !parse_number(words[0])) return;
    const bool sized = columns_.front() == "Size";
    const auto size = sized ? parse_count(words[0]) : std::optional<std::uint64_t>(0);
    // Sizes grow: other numbers below the table are none of its rows.
    if (!size || (sized && seen_rows() && *size <= last_size_)) return;
    if (words.size() != columns_.size()) {
      if (words.size() < columns_.size() && sized) {
        draft_.warn(number, "the row is truncated, skipped");
      }
      return;
    }
    auto axes = axes_;
    if (sized) axes.emplace_back("size", format_size(*size));
    std::vector<Metric> metrics;
    std::string_view validation, iterations;
    for (std::size_t i = sized ? 1 : 0; i < words.size(); ++i) {
      if (columns_[i] == "Validation") validation = words[i];
      if (columns_[i] == "Iterations") iterations = words[i];
      if (auto one = metric_of(columns_[i], words[i])) metrics.push_back(std::move(*one));
    }
    if (metrics.empty()) {
      draft_.warn(number, "its values are not numbers, skipped");
      return;
    }
    Record& record = draft_.add(Cell("osu", std::move(axes)), number);
    record.metrics = std::move(metrics);
    note(record, "iterations", iterations);
    if (!validation.empty() && lower_case(validation) != "pass") {
      record.status = RecordStatus::failed;
      record.reason = fmt::format("its validation says {}", validation);
    }
    last_size_ = *size;
    if (!sized) columns_.clear();  // one row, as of a barrier
  }

  bool seen_rows() const { return draft_.run_has_records(); }

  Draft draft_;
  LineReader lines_;
  std::vector<std::string> columns_;
  Axes axes_, early_;
  std::uint64_t last_size_ = 0;
};

class Osu final : public Importer {
 public:
  std::string_view name() const override { return "osu"; }
  std::string_view summary() const override {
    return "OSU micro-benchmarks: osu_latency and others";
  }
  int recognises(const ImportText& input) const override {
    return contains(input.text, "# OSU ") && contains(input.text, " Test") ? 90 : 0;
  }
  Result<Imported> import(const ImportText& input) const override { return Reader(input).read(); }
};

const Osu importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::osu_importer
