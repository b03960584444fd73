#include "advise/doctor/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "machine/system/fact_source.h"

namespace assay {
namespace {

constexpr std::string_view white = " \t\r\n";

/// Makes a finding. Text from the machine is made printable, because it is shown on a terminal.
Finding finding(Judgement judgement, const Advice& advice, const std::string& found,
                const std::string& subject) {
  return {.judgement = judgement,
          .subject = printable(subject),
          .found = printable(found),
          .wanted = std::string(advice.wanted),
          .why = std::string(advice.why),
          .source = std::string(advice.source),
          .fix = judgement == Judgement::pass ? std::string() : std::string(advice.fix)};
}

std::string reason_of(FileState state) {
  switch (state) {
    case FileState::denied:
      return "needs root";
    case FileState::failed:
      return "the kernel refuses to read it";
    case FileState::not_captured:
      return "not in the capture";
    case FileState::found:
      return "empty";
    case FileState::missing:
      break;
  }
  return "does not exist";
}

}  // namespace

std::string_view name_of(Judgement judgement) {
  switch (judgement) {
    case Judgement::pass:
      return "PASS";
    case Judgement::warn:
      return "WARN";
    case Judgement::fail:
      return "FAIL";
    case Judgement::unknown:
      break;
  }
  return "UNKNOWN";
}

Finding passed(const Advice& advice, const std::string& found, const std::string& subject) {
  return finding(Judgement::pass, advice, found, subject);
}
Finding warned(const Advice& advice, const std::string& found, const std::string& subject) {
  return finding(Judgement::warn, advice, found, subject);
}
Finding failed(const Advice& advice, const std::string& found, const std::string& subject) {
  return finding(Judgement::fail, advice, found, subject);
}
Finding unknown(const Advice& advice, const std::string& reason, const std::string& subject) {
  return finding(Judgement::unknown, advice, reason, subject);
}
Finding bad(bool certain, const Advice& advice, const std::string& found,
            const std::string& subject) {
  return finding(certain ? Judgement::fail : Judgement::warn, advice, found, subject);
}

Reading read_setting(const Machine& machine, const std::filesystem::path& path) {
  FileText file = machine.read(path);
  if (file.state == FileState::found && !is_text(file.text)) {
    return {std::nullopt, FileState::failed,
            fmt::format("/{}: not text: {}", path.string(), in_quotes(file.text))};
  }
  if (file.state == FileState::found) {
    const std::size_t first = file.text.find_first_not_of(white);
    if (first != std::string::npos) {
      const std::size_t last = file.text.find_last_not_of(white);
      return {file.text.substr(first, last - first + 1), file.state, {}};
    }
  }
  return {std::nullopt, file.state, fmt::format("/{}: {}", path.string(), reason_of(file.state))};
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& letter : shown) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return shown;
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) {
    return byte < 0 || byte >= ' ' || white.find(byte) != std::string_view::npos;
  });
}

std::optional<long long> whole_number(std::string_view text) {
  long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  return fmt::format("\"{}{}\"", printable(text.substr(0, longest)),
                     text.size() > longest ? "..." : "");
}

std::optional<int> count_cpus(std::string_view list) {
  int count = 0;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view range = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    const std::size_t dash = range.find('-');
    const auto first = whole_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last > 1'000'000) return std::nullopt;
    count += static_cast<int>(*last - *first + 1);
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = text.find_first_not_of(white); at != std::string_view::npos;
       at = text.find_first_not_of(white, at)) {
    const std::size_t end = std::min(text.find_first_of(white, at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

}  // namespace assay
