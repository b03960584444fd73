#include "results/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shown_text.h"

namespace assay {
namespace {

constexpr std::size_t map_node = 48;  // bytes of a map's entry, with its links

}  // namespace

TextId Timeline::text_id(std::string_view text) {
  const auto at = text_ids_.find(text);
  if (at != text_ids_.end()) return at->second;
  texts_.emplace_back(text);
  const auto id = static_cast<TextId>(texts_.size() - 1);
  text_ids_.emplace(texts_.back(), id);
  pool_bytes_ += text.size() + sizeof(std::string) + map_node;
  return id;
}

LaneId Timeline::lane_id(const TraceLane& lane) {
  const auto [at, is_new] = lane_ids_.emplace(lane, static_cast<LaneId>(lanes_.size()));
  if (is_new) {
    lanes_.push_back(lane);
    pool_bytes_ += 2 * sizeof(TraceLane) + map_node;
  }
  return at->second;
}

std::uint32_t Timeline::detail_id(const EventDetail& detail) {
  const auto [at, is_new] =
      detail_ids_.emplace(detail, static_cast<std::uint32_t>(details_.size()));
  if (is_new) {
    details_.push_back(detail);
    pool_bytes_ += 2 * sizeof(EventDetail) + map_node;
  }
  return at->second;
}

bool Timeline::is_full() {
  if (events_.size() >= most_trace_events) {
    note(fmt::format("the file has more than {} million events, of which the rest was not read",
                     most_trace_events / 1'000'000));
    return true;
  }
  if (bytes() <= most_bytes_) return false;
  note("the traces take more than 8 GiB of memory, so the rest was not read");
  return true;
}

bool Timeline::add(TraceEvent event, std::optional<std::int64_t> start,
                   std::optional<std::int64_t> end) {
  if (is_full()) return false;
  const auto is_time = [](const std::optional<std::int64_t>& time) {
    return time && *time >= -longest_time && *time <= longest_time;
  };
  if (!is_time(start) || !is_time(end)) {
    note("an event has no time or an impossible one, and was left out");
    return true;
  }
  if (is_gpu_work(event.kind) && *start == 0 && *end == 0) {
    note(
        "work of a GPU has the time 0, which CUPTI writes if it lost the real one, and was left "
        "out");
    return true;
  }
  if (*end < *start) note("an event has a negative duration, which counts as 0");
  event.start = *start;
  event.duration = std::max<std::int64_t>(*end - *start, 0);
  add(event);
  return true;
}

void Timeline::note(std::string_view sentence, std::size_t count) {
  constexpr std::size_t most = 1000, longest = 1000;
  if (count == 0) return;
  const std::string text = shown_line(sentence, longest);
  const bool fits = notes_.size() < most || notes_.count(text) > 0;
  notes_[fits ? text : "there are more than 1,000 notes; another was left out"] += count;
}

std::vector<std::string> Timeline::notes() const {
  std::vector<std::string> sentences;
  for (const auto& [sentence, count] : notes_) {
    sentences.push_back(count == 1 ? sentence : fmt::format("{} ({} times)", sentence, count));
  }
  return sentences;
}

std::uint64_t number_in_process(std::uint64_t process, std::uint64_t number) {
  constexpr int bits_of_numbers = 48;
  constexpr std::uint64_t most_processes = 0xffff;  // one less than fit, because of no_number
  const bool fits = number >> bits_of_numbers == 0 && process < most_processes;
  return fits ? number | process << bits_of_numbers : no_number;
}

std::string text_in_process(std::uint64_t process, std::string_view text) {
  return process == 0 ? std::string(text) : fmt::format("{} of process {}", text, process + 1);
}

std::string copy_lane(std::string_view stream) {
  return stream.empty() ? std::string(copies_of_all_streams)
                        : fmt::format("{} {}", copies_of_all_streams, stream);
}

std::optional<std::int64_t> decimal_time(std::string_view text, int exponent) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // The value is digits * 10^shift. Digits beyond the 30th matter only if they are not zero.
  __int128 digits = 0;
  int shift = exponent, seen = 0;
  bool rest = false, point = false;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const char letter = text[at];
    if (letter == '.' && !point) {
      point = true;
      continue;
    }
    if (letter < '0' || letter > '9') break;
    ++seen;
    const int digit = letter - '0';
    constexpr __int128 full = static_cast<__int128>(1'000'000'000'000'000) * 100'000'000'000'000;
    if (digits < full) {
      digits = digits * 10 + digit;
      shift -= point ? 1 : 0;
    } else {
      rest = rest || digit != 0;
      shift += point ? 0 : 1;
    }
  }
  if (seen == 0) return std::nullopt;
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (at == text.size()) return std::nullopt;
    int power = 0;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return std::nullopt;
      power = std::min(power * 10 + (text[at] - '0'), 10'000);
    }
    shift += down ? -power : power;
  }
  if (digits == 0) return 0;
  for (; shift > 0 && digits <= longest_time; --shift) digits *= 10;
  if (shift > 0) return std::nullopt;
  for (; shift < -1; ++shift) {
    if (digits == 0) return 0;
    rest = rest || digits % 10 != 0;
    digits /= 10;
  }
  if (shift == -1) {
    const int last = static_cast<int>(digits % 10);
    digits /= 10;
    if (last > 5 || (last == 5 && (rest || digits % 2 == 1))) ++digits;
  }
  if (digits > longest_time) return std::nullopt;
  const auto value = static_cast<std::int64_t>(digits);
  return negative ? -value : value;
}

}  // namespace assay
