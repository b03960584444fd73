#include "results/import/record_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "core/hash.h"
#include "core/text.h"
#include "results/import/judged_metrics.h"
#include "results/import/load_facts.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

constexpr std::size_t most_warnings = 100;
constexpr std::size_t longest_name = 100;
constexpr std::size_t longest_note = 1000;  // bytes; names of kernels fit, whole logs do not

/// Makes text safe for one line on the screen: no control characters, limited length.
std::string one_line(std::string_view text) {
  std::size_t length = std::min(text.size(), longest_note);
  const bool cut = length < text.size();
  // Not within a character of several bytes.
  while (cut && length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  std::string line(text.substr(0, length));
  if (cut) line += "...";
  std::replace_if(
      line.begin(), line.end(),
      [](char letter) { return (letter >= 0 && letter < ' ') || letter == '\x7f'; }, ' ');
  return line;
}

std::string axis_value(std::string_view text) {
  std::string value = one_line(trim(text));
  std::replace(value.begin(), value.end(), ' ', '_');
  return value.empty() ? "none" : value;
}

using Notes = std::vector<std::pair<std::string, std::string>>;

bool has_note(const Notes& notes, std::string_view key) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const auto& pair) { return pair.first == key; });
}

/// Marks impossible values: no time or rate is negative, except an overhead, which is a difference.
void judge_numbers(Record& record) {
  std::erase_if(record.metrics,
                [](const Metric& one) { return one.name.empty() || !std::isfinite(one.value); });
  for (const Metric& one : record.metrics) {
    const bool rate = one.unit == "s" || one.unit.ends_with("/s");
    if (!rate || one.value >= 0 || one.name == "overhead") continue;
    record.status = RecordStatus::failed;
    record.reason = fmt::format("{} is negative: {}", one.name, one.text);
  }
  if (record.status == RecordStatus::passed && record.metrics.empty()) {
    record.status = RecordStatus::error;
    record.reason = "it reports no numbers";
  }
}

}  // namespace

void RunFacts::note(std::string_view key, std::string_view value) {
  constexpr std::size_t most_notes = 64;
  if (key.empty() || value.empty() || notes.size() >= most_notes || has_note(notes, key)) return;
  notes.emplace_back(key.substr(0, longest_name), one_line(value));
}

void note(Record& record, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  for (auto& [name, text] : record.notes) {
    if (name != key) continue;
    text = one_line(value);
    return;
  }
  record.notes.emplace_back(key, one_line(value));
}

Draft::Draft(const ImportText& input, std::string_view format, std::string_view tool)
    : name_(input.name), format_(format), tool_(tool), content_(sha256_hex(input.text)) {
  run_.tool = tool;
}

void Draft::close_run() {
  // The run's id is made from the content, so importing a file twice gives the same id.
  std::string id = fmt::format("{}-{}", format_, content_.substr(0, 12));
  if (runs_ > 0) id += fmt::format("-{}", runs_ + 1);
  for (std::size_t i = run_begin_; i < records_.size(); ++i) {
    Record& record = records_[i];
    record.run = id;
    judge_numbers(record);
    if (const std::string impossible = complete_load(record); !impossible.empty()) {
      warn(record.source->line, impossible);
      note(record, void_note, impossible);
    }
    keep_judged(record);
    record.time = iso_time(record.time.empty() ? run_.time : record.time);
    if (record.device.name.empty()) record.device.name = one_line(run_.device);
    record.source->tool = run_.tool;
    record.source->version = one_line(run_.version);
    for (const auto& [key, value] : run_.notes) {
      if (!has_note(record.notes, key)) record.notes.emplace_back(key, value);
    }
  }
  if (run_has_records()) ++runs_;
  run_begin_ = records_.size();
}

void Draft::next_run() {
  close_run();
  run_ = RunFacts();
  run_.tool = tool_;
}

Record& Draft::add(const Cell& cell, std::size_t line) {
  too_many_ = too_many_ || records_.size() >= most_imported;
  Record& record = too_many_ ? (overflow_ = Record()) : records_.emplace_back();
  // A cell is shown and stored as one text: values must not be empty or contain white space.
  auto axes = cell.values();
  for (auto& [axis, value] : axes) {
    axis = axis_value(axis);
    value = axis_value(value);
  }
  record.cell = Cell(cell.benchmark(), std::move(axes));
  record.status = RecordStatus::passed;
  record.device.backend = foreign_backend;
  record.source = Source{.tool = {}, .version = {}, .file = name_, .line = line};
  return record;
}

void Draft::warn(std::size_t line, std::string_view message) {
  if (warnings_.size() >= most_warnings) {
    ++more_warnings_;
  } else if (line == 0) {
    warnings_.emplace_back(message);
  } else {
    warnings_.push_back(fmt::format("line {}: {}", line, message));
  }
}

Error Draft::wrong(std::size_t line, std::string_view message) const {
  const std::string place = line == 0 ? name_ : fmt::format("{}:{}", name_, line);
  return {ErrorKind::usage, fmt::format("{}: {}", place, message)};
}

Result<Imported> Draft::finish() {
  close_run();
  if (too_many_) {
    return wrong(0, fmt::format("it holds more than {} results; split it", most_imported));
  }
  if (more_warnings_ > 0) warnings_.push_back(fmt::format("and {} more warnings", more_warnings_));
  if (records_.empty()) {
    std::string message = fmt::format("it contains no result of {}", format_);
    if (!warnings_.empty()) message += "; " + warnings_.front();
    return wrong(0, message);
  }
  return Imported{format_, std::move(records_), std::move(warnings_)};
}

std::string iso_time(std::string_view text) {
  constexpr std::size_t length = 19;  // length of "2026-01-02T03:04:05"
  std::tm parts = {};
  int* const fields[] = {&parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                         &parts.tm_hour, &parts.tm_min, &parts.tm_sec};
  const std::string_view shape = "dddd-dd-ddTdd:dd:dd";
  int field = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const char letter = i < text.size() ? text[i] : '\0';
    if (shape[i] != 'd') {
      if (letter != shape[i] && !(shape[i] == 'T' && letter == ' ')) return {};
      ++field;
    } else if (letter < '0' || letter > '9') {
      return {};
    } else {
      *fields[field] = *fields[field] * 10 + (letter - '0');
    }
  }
  if (parts.tm_mon < 1 || parts.tm_mon > 12 || parts.tm_mday < 1 || parts.tm_mday > 31) return {};
  constexpr int leap_second = 60;
  if (parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > leap_second) return {};
  std::string_view zone = text.substr(length);
  if (zone.starts_with('.')) {  // fractions of a second are dropped
    zone = zone.substr(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  }
  const auto written = [&](const char* end) {
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}", parts.tm_year, parts.tm_mon,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, end);
  };
  if (zone.empty()) return written("");
  if (zone == "Z" || zone == "+00:00") return written("Z");
  const bool offset = zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':';
  const auto hours = offset ? parse_count(zone.substr(1, 2)) : std::nullopt;
  const auto minutes = offset ? parse_count(zone.substr(4, 2)) : std::nullopt;
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return {};
  const auto shift = static_cast<std::time_t>(*hours * 3600 + *minutes * 60);
  parts.tm_year -= 1900;
  --parts.tm_mon;
  std::time_t seconds = ::timegm(&parts);
  seconds += zone[0] == '+' ? -shift : shift;
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  parts.tm_year += 1900;
  ++parts.tm_mon;
  return written("Z");
}

Metric metric(std::string_view name, double value, std::string_view unit, Better better,
              std::string_view text) {
  return {std::string(name.substr(0, longest_name)), value, std::string(unit), better,
          std::string(text.substr(0, longest_name))};
}

}  // namespace assay
