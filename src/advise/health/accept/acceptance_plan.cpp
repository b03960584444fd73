#include "advise/health/accept/acceptance_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "measure/suites/suite.h"

namespace assay::health {
namespace {

/// A process that loads a vendor's libraries and opens a device.
constexpr double start_seconds = 2;

using Lines = std::vector<const LimitLine*>;

/// The cells of the lines as a suite on one line.
std::string suite_of(const Limits& limits, const Lines& lines) {
  Suite suite;
  suite.name = limits.name;
  suite.description = limits.description;
  for (const LimitLine* line : lines) {
    SuiteEntry entry;
    entry.benchmark = line->benchmark;
    for (const auto& [axis, value] : line->cell_to_run.values()) {
      entry.settings.push_back({{axis, value}, line->line});
    }
    suite.entries.push_back(std::move(entry));
  }
  return inline_text(suite, {});
}

/// Cuts lines into steps: Linux takes at most 128 KiB for one word of a command line.
std::vector<Lines> cut_into_steps(const Limits& limits, const Lines& lines) {
  constexpr std::size_t most_bytes = 100'000;
  if (lines.size() < 2 || suite_of(limits, lines).size() <= most_bytes) return {lines};
  const auto middle = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2);
  std::vector<Lines> steps = cut_into_steps(limits, {lines.begin(), middle});
  for (Lines& more : cut_into_steps(limits, {middle, lines.end()})) {
    steps.push_back(std::move(more));
  }
  return steps;
}

/// How long a line takes compared with one cell on one GPU.
double weight_of(const LimitLine& line, std::size_t devices) {
  if (is_for_ranks(line)) return 4;  // every rank starts and connects
  if (!is_for_node(line)) return 1;
  constexpr double of_a_pair = 0.25;
  const auto n = static_cast<double>(devices);
  const bool every_pair =
      line.cell_to_run.text("from") == "all" && line.cell_to_run.text("pattern") != "all_to_all";
  return every_pair ? of_a_pair * n * (n - 1) : 1;
}

struct Group {
  std::string what;
  Lines lines;
  std::vector<std::string> options;
  double weight = 0;
};

}  // namespace

AcceptancePlan plan_acceptance(const Limits& limits, Thoroughness thoroughness,
                               std::span<const DeviceFacts> devices, double seconds) {
  Lines single, node, ranks;
  for (const LimitLine& line : limits.lines) {
    if (line.cell.empty() || !is_due(line, thoroughness)) continue;
    (is_for_ranks(line) ? ranks : is_for_node(line) ? node : single).push_back(&line);
  }
  std::vector<Group> groups;
  const auto add = [&](const std::string& what, const Lines& lines,
                       const std::vector<std::string>& options) {
    for (const Lines& some : cut_into_steps(limits, lines)) groups.push_back({what, some, options});
  };
  for (const DeviceFacts& device : devices) {
    const std::string name = fmt::format("{}:{}", device.backend, device.ordinal);
    add(name, single, {"--device", name});
  }
  if (devices.size() > 1) {
    const std::string backend = devices.front().backend;
    add("copies between GPUs", node, {"--device", backend});
    add("ranks", ranks, {"--device", backend, "--ranks", fmt::format("{}", devices.size())});
  }
  std::erase_if(groups, [](const Group& group) { return group.lines.empty(); });
  double weight = 0;
  for (Group& group : groups) {
    for (const LimitLine* line : group.lines) group.weight += weight_of(*line, devices.size());
    weight += group.weight;
  }
  AcceptancePlan plan;
  const double starts = start_seconds * static_cast<double>(groups.size());
  const double least = 0.5 * seconds;  // many GPUs and little time: starts come on top
  const double budget = std::max(seconds - starts, least);
  for (const Group& group : groups) {
    AcceptanceStep step;
    if (group.options.size() == 2 && group.options[1].find(':') != std::string::npos) {
      step.device = group.options[1];
    }
    step.seconds = budget * group.weight / weight;
    step.what = fmt::format("{}: {} line{}", group.what, group.lines.size(),
                            group.lines.size() == 1 ? "" : "s");
    step.words = {"run", suite_of(limits, group.lines), "--budget",
                  fmt::format("{:.3f}s", std::max(step.seconds, 0.001))};
    step.words.insert(step.words.end(), group.options.begin(), group.options.end());
    plan.seconds += step.seconds + start_seconds;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace assay::health
