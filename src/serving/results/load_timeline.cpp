#include "serving/results/load_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/json.h"
#include "core/json_text.h"

namespace assay {
namespace {

/// Tokens that become ranges; further ones would make a file that no viewer opens.
constexpr std::size_t most_tokens = 1'000'000;

std::int64_t nanoseconds(double seconds) {
  return std::llround(std::clamp(seconds, 0.0, 1e9) * 1e9);
}

}  // namespace

LoadTimeline::LoadTimeline(std::int64_t epoch)
    : loads_(timeline_.lane_id({timeline_.text_id("load"), timeline_.text_id("loads"), false})),
      requests_(
          timeline_.lane_id({timeline_.text_id("load"), timeline_.text_id("requests"), false})) {
  timeline_.epoch = epoch;
}

void LoadTimeline::add(LaneId lane, TraceEventKind kind, std::string_view name, std::int64_t start,
                       std::int64_t end, std::uint64_t correlation) {
  TraceEvent event;
  event.kind = kind;
  event.lane = lane;
  event.name = timeline_.text_id(name);
  event.correlation = correlation;
  timeline_.add(event, start - timeline_.epoch, end - timeline_.epoch);
}

void LoadTimeline::add_requests(const std::vector<RequestLog>& logs, std::int64_t begin,
                                std::string_view label) {
  std::vector<std::pair<std::int64_t, int>> changes;  // of the number in flight
  std::int64_t last = begin;
  for (const RequestLog& log : logs) {
    if (log.sent < 0 || log.end < 0) continue;
    const auto at = [begin](double seconds) { return begin + nanoseconds(seconds); };
    const std::int64_t due = at(std::min(log.due, log.sent)), end = at(log.end);
    changes.emplace_back(at(log.sent), 1);
    changes.emplace_back(end, -1);
    last = std::max(last, end);
    add(requests_, TraceEventKind::annotation,
        fmt::format("request {}: {} tokens in, {} out{}", log.index, log.prompt_tokens,
                    log.output_tokens,
                    log.succeeded() ? "" : fmt::format(", {}", name_of(log.reply_end))),
        due, end);
    if (at(log.sent) > due)
      add(requests_, TraceEventKind::annotation, "held back", due, at(log.sent));
    if (log.first < 0) continue;
    add(requests_, TraceEventKind::annotation, "until the first token", at(log.sent),
        at(log.first));
    add_tokens(requests_, log, begin);
  }
  add(loads_, TraceEventKind::annotation, label, begin, last);
  std::sort(changes.begin(), changes.end());
  int in_flight = 0;
  for (const auto& [time, change] : changes) {
    in_flight += change;
    in_flight_.values.emplace_back(time - timeline_.epoch, in_flight);
  }
}

void LoadTimeline::add_tokens(LaneId lane, const RequestLog& log, std::int64_t begin) {
  double time = log.first;
  for (const float gap : log.gaps) {
    if (++tokens_ > most_tokens) {
      timeline_.note("tokens after the first 1000000 have no range of their own");
      return;
    }
    add(lane, TraceEventKind::annotation, "token", begin + nanoseconds(time),
        begin + nanoseconds(time + gap));
    time += gap;
  }
}

Status LoadTimeline::add_steps(std::string_view page, std::size_t server, std::string_view url,
                               std::int64_t from) {
  const Error wrong{ErrorKind::usage, fmt::format("{}/steps is not a list of steps", url)};
  const auto parsed = parse_json(page);
  if (!parsed.ok() || !parsed->is_object()) return wrong;
  const Json& json = *parsed;
  if (!json.contains("steps") || !json["steps"].is_array()) return wrong;
  const std::string name = fmt::format("{}", server);
  const LaneId host = timeline_.lane_id(
      {timeline_.text_id(fmt::format("server {}", server)), timeline_.text_id("engine"), false});
  const LaneId device =
      timeline_.lane_id({timeline_.text_id(name), timeline_.text_id("steps"), true});
  timeline_.devices[name].name = fmt::format("{}, steps of its engine", url);
  TraceCounter sequences{fmt::format("server {} sequences", server), "1", {}};
  TraceCounter waiting{fmt::format("server {} waiting", server), "1", {}};
  constexpr std::size_t fields = 8;
  for (const Json& step : json["steps"]) {
    if (!step.is_array() || step.size() != fields) return wrong;
    std::array<std::int64_t, fields> v{};
    for (std::size_t i = 0; i < fields; ++i) {
      if (!step[i].is_number_integer() || step[i] < 0 || step[i] > longest_time) return wrong;
      v[i] = step[i].get<std::int64_t>();
    }
    const auto& [begin, launched, computed, end, prompt, output, running, queued] = v;
    if (begin > launched || launched > computed || computed > end) return wrong;
    if (end < from) continue;
    ++steps_;
    add(host, TraceEventKind::operation, "step", begin, end);
    add(host, TraceEventKind::call, "schedule", begin, launched, steps_);
    add(host, TraceEventKind::operation, "hand out tokens", computed, end);
    add(device, TraceEventKind::kernel,
        output == 0   ? "step of prompts"
        : prompt == 0 ? "step of tokens"
                      : "step of prompts and tokens",
        launched, computed, steps_);
    sequences.values.emplace_back(begin - timeline_.epoch, static_cast<double>(running));
    waiting.values.emplace_back(begin - timeline_.epoch, static_cast<double>(queued));
  }
  if (const auto dropped = json.find("dropped");
      dropped != json.end() && dropped->is_number_unsigned() && *dropped > 0 &&
      (json["steps"].empty() || json["steps"][0][0] > from)) {
    timeline_.note(fmt::format("{} keeps its last {} steps; earlier ones are not here", url,
                               json["steps"].size()));
  }
  of_servers_.push_back(std::move(sequences));
  of_servers_.push_back(std::move(waiting));
  return {};
}

Timeline LoadTimeline::finish() && {
  timeline_.counters.push_back(std::move(in_flight_));
  for (TraceCounter& counter : of_servers_) timeline_.counters.push_back(std::move(counter));
  return std::move(timeline_);
}

}  // namespace assay
