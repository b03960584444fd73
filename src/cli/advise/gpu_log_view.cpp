#include "cli/advise/gpu_log_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>
#include <vector>

#include "cli/screen_text.h"
#include "core/json.h"
#include "core/shown_text.h"

namespace assay::cli {
namespace {

constexpr std::size_t longest_shown = 200;

/// What the log says about an event, by name; empty texts are left out.
std::vector<std::pair<std::string_view, std::string>> facts_of(const GpuLogEvent& event) {
  std::vector<std::pair<std::string_view, std::string>> facts;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, shown_line(value, longest_shown));
  };
  add("device", event.device);
  add("process", event.process);
  add("kernel", event.kernel);
  add("source", event.source);
  add("code", event.code);
  add("address", event.address);
  add("access", event.access);
  const std::string_view meaning = unit_meaning(event.unit);
  add("unit", meaning.empty() ? event.unit : fmt::format("{}, {}", event.unit, meaning));
  add("reason", event.reason);
  return facts;
}

/// Returns what to do next, without the search for a kernel that the log names.
std::vector<std::string_view> steps_of(const GpuLogEvent& event) {
  std::vector<std::string_view> steps;
  std::string_view rest = event.message->next;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view step = rest.substr(0, end);
    if (event.kernel.empty() || !step.starts_with("find the kernel: ")) steps.push_back(step);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return steps;
}

std::string event_text(const GpuLogEvent& event, std::size_t width, const Style& style) {
  const std::string where =
      event.count == 1 ? fmt::format("line {}", event.line)
                       : fmt::format("{} times, first in line {}", event.count, event.line);
  std::string text =
      "\n" + wrapped(fmt::format("{} ({})\n", style.bold(std::string(event.message->title)), where),
                     2, width);
  for (const auto& [name, value] : facts_of(event)) {
    text += wrapped(fmt::format("  {:<8} {}\n", name, value), 11, width);
  }
  text += wrapped(fmt::format("  {}\n", event.message->means), 2, width);
  int number = 1;
  for (const std::string_view step : steps_of(event)) {
    text += wrapped(fmt::format("  {}. {}\n", number++, step), 5, width);
  }
  return text;
}

}  // namespace

std::string gpu_log_text(const std::vector<GpuLogEvent>& events, std::size_t lines,
                         std::size_t width, const Style& style) {
  const std::string read = fmt::format("{} line{}", lines, lines == 1 ? "" : "s");
  if (events.empty()) return fmt::format("no known error of a GPU in {}\n", read);
  std::string text =
      fmt::format("{} kind{} of error{} of GPUs in {}\n", events.size(),
                  events.size() == 1 ? "" : "s", events.size() == 1 ? "" : "s", read);
  for (const GpuLogEvent& event : events) text += event_text(event, width, style);
  return text;
}

Json gpu_log_json(const std::vector<GpuLogEvent>& events, std::size_t lines) {
  Json list = Json::array();
  for (const GpuLogEvent& event : events) {
    Json facts = Json::object();
    for (const auto& [name, value] : facts_of(event)) facts[std::string(name)] = value;
    list.push_back({{"id", event.message->id},
                    {"title", event.message->title},
                    {"line", event.line},
                    {"count", event.count},
                    {"text", shown_line(event.text, longest_shown)},
                    {"facts", std::move(facts)},
                    {"means", event.message->means},
                    {"next", fmt::format("{}", fmt::join(steps_of(event), "\n"))}});
  }
  return {{"lines", lines}, {"events", std::move(list)}};
}

}  // namespace assay::cli
