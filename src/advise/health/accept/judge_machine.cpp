#include "advise/health/accept/judge_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "advise/doctor/advice.h"
#include "measure/grid/benchmark.h"
#include "results/store/comparable_metrics.h"

namespace assay::health {
namespace {

constexpr std::string_view no_real_time =
    "needs a real device: times of an emulated one come from a model";

/// What was found for one GPU, pair or machine.
struct Found {
  std::string subject;
  std::optional<Interval> value;
  std::string problem;  ///< why there is no value
  bool wrong = false;   ///< the problem is the machine's
};

bool beyond(const LimitLine& line, const Interval& found) {
  return line.at_most ? found.low > line.value : found.high < line.value;
}

bool within(const LimitLine& line, const Interval& found) {
  return line.at_most ? found.high <= line.value : found.low >= line.value;
}

LineVerdict verdict_of(const LimitLine& line, const Found& found) {
  if (found.wrong) return LineVerdict::fail;
  if (!found.value) return LineVerdict::unknown;
  if (beyond(line, *found.value)) return LineVerdict::fail;
  return within(line, *found.value) ? LineVerdict::pass : LineVerdict::unknown;
}

/// Orders what was found: failures first, then what is unknown, then the nearest to the limit.
bool worse(const LimitLine& line, const Found& a, const Found& b) {
  const auto rank = [&](const Found& found) {
    const LineVerdict verdict = verdict_of(line, found);
    return verdict == LineVerdict::fail ? 0 : verdict == LineVerdict::unknown ? 1 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (!a.value || !b.value) return !a.value && b.value.has_value();
  return line.at_most ? a.value->high > b.value->high : a.value->low < b.value->low;
}

Found mean_of(const std::vector<Found>& all) {
  Found mean{"", Interval{}, "", false};
  const double n = static_cast<double>(all.size());
  const auto wrong =
      std::find_if(all.begin(), all.end(), [](const Found& one) { return one.wrong; });
  if (wrong != all.end()) return *wrong;
  for (const Found& one : all) {
    if (!one.value) return one;
    mean.value->low += one.value->low / n;
    mean.value->high += one.value->high / n;
  }
  return mean;
}

JudgedLine judged(const LimitLine& line, const std::vector<Found>& all) {
  JudgedLine result;
  result.line = line;
  result.subjects = all.size();
  if (all.empty()) {
    result.reason = "not measured";
    return result;
  }
  const Found worst =
      line.over_mean
          ? mean_of(all)
          : *std::min_element(all.begin(), all.end(),
                              [&](const Found& a, const Found& b) { return worse(line, a, b); });
  result.verdict = verdict_of(line, worst);
  result.found = worst.value;
  if (all.size() > 1) result.subject = worst.subject;
  result.reason = worst.problem;
  if (result.verdict == LineVerdict::unknown && worst.value) {
    result.reason = "the interval contains the limit";
  }
  return result;
}

/// Copies between GPUs, which one process makes.
bool is_peer_copy(const Cell& cell) {
  return cell.benchmark() == "peer";
}

/// "from=0 to=3" of a pair, or the device.
std::string subject_of(const Record& record) {
  if (!is_peer_copy(record.cell)) return device_label(record.device);
  return fmt::format("from={} to={}", record.cell.text("from"), record.cell.text("to"));
}

Found found_in(const LimitLine& line, const Record& record) {
  Found found{subject_of(record), {}, "", false};
  if (record.status == RecordStatus::failed) {
    found.problem = "wrong result: " + record.reason;
    found.wrong = true;
    return found;
  }
  if (record.status != RecordStatus::passed) {
    found.problem = fmt::format("{}: {}", name_of(record.status), record.reason);
    return found;
  }
  if (record.device.emulated) {
    found.problem = no_real_time;
    return found;
  }
  for (const Figure& figure : figures_of(record)) {
    if (figure.metric != line.metric) continue;
    if (figure.unit != line.unit) {
      found.problem =
          fmt::format("{} is in {}, the limit in {}", figure.metric, figure.unit, line.unit);
    } else if ((figure.better == Better::lower) != line.at_most) {
      found.problem = fmt::format("for {}, {} is better: the limit is on the wrong side",
                                  figure.metric, name_of(figure.better));
    } else {
      found.value = figure.interval95;
    }
    return found;
  }
  found.problem = fmt::format("its record has no {}", line.metric);
  return found;
}

/// The devices that should have been measured, with the reason for which one was not.
std::map<std::string, std::string> devices_of(std::span<const Record> records,
                                              const MachineFacts& facts) {
  std::map<std::string, std::string> devices = facts.devices;
  for (const Record& record : records) {
    const bool alone = record.ranks.empty() && !is_peer_copy(record.cell);
    if (alone) devices.try_emplace(device_name(record.device));
  }
  return devices;
}

/// Copies between every two of n devices, each way.
bool lacks_pairs(const LimitLine& line, std::size_t found, std::size_t n) {
  const Cell& cell = line.cell_to_run;
  return is_peer_copy(cell) && cell.text("pattern") == "pair" && cell.text("from") == "all" &&
         cell.text("to") == "all" && found > 0 && found < n * (n - 1);
}

JudgedLine judge_cell(const LimitLine& line, std::span<const Record> records,
                      const std::map<std::string, std::string>& devices) {
  std::vector<Found> all;
  std::set<std::string> measured;
  for (const Record& record : records) {
    if (!matches(line, record.cell)) continue;
    measured.insert(device_name(record.device));
    all.push_back(found_in(line, record));
  }
  if (!is_for_node(line) && !is_for_ranks(line)) {
    for (const auto& [device, problem] : devices) {
      if (measured.count(device) > 0) continue;
      all.push_back({device, {}, problem.empty() ? "not measured" : problem, false});
    }
  }
  if (lacks_pairs(line, all.size(), devices.size())) {
    all.push_back({"a pair", {}, "not measured", false});
  }
  return judged(line, all);
}

std::vector<Found> of_every_gpu(const std::vector<Gpu>& gpus,
                                std::optional<Interval> (*value)(const Gpu&)) {
  std::vector<Found> all;
  for (const Gpu& gpu : gpus) {
    Found found{label(gpu), value(gpu), "", false};
    if (!found.value) found.problem = "the driver does not show it";
    all.push_back(std::move(found));
  }
  return all;
}

Interval exactly(double value) {
  return {value, value};
}

bool passes(const Finding& finding) {
  return finding.judgement == Judgement::pass;
}

bool has_iommu(const Finding& finding) {
  return !finding.found.starts_with("off");
}

/// A kernel argument, and how a check of the doctor shows that what it asks for holds without it,
/// by the kernel's default or another setting.
struct ArgumentEffect {
  std::string_view argument, check;
  bool (*holds)(const Finding&);
};
constexpr std::array<ArgumentEffect, 4> argument_effects = {{
    {"iommu=pt", "iommu", &passes},
    {"amd_iommu=on", "iommu", &has_iommu},
    {"intel_iommu=on", "iommu", &has_iommu},
    {"numa_balancing=disable", "numa-balancing", &passes},
}};

/// Judges a line whose arguments are not set by what they would bring about. Stays FAIL if no check
/// shows that.
void judge_effect(JudgedLine& result, const std::vector<FoldedFinding>& findings) {
  for (const ArgumentEffect& effect : argument_effects) {
    if (std::ranges::find(result.line.has, effect.argument) == result.line.has.end()) continue;
    const auto shown = std::ranges::find_if(
        findings, [&](const FoldedFinding& one) { return one.check->id == effect.check; });
    if (shown == findings.end()) continue;
    const Finding& finding = shown->finding;
    const bool known = finding.judgement != Judgement::unknown;
    result.reason = fmt::format("not set; {}: {}", effect.check, finding.found);
    result.verdict = !known                  ? LineVerdict::unknown
                     : effect.holds(finding) ? LineVerdict::pass
                                             : LineVerdict::fail;
    return;
  }
}

JudgedLine judge_arguments(const LimitLine& line, const MachineFacts& facts) {
  JudgedLine result;
  result.line = line;
  if (!facts.command_line) {
    result.reason = "/proc/cmdline cannot be read";
    return result;
  }
  result.subjects = 1;
  const auto is_set = [&](const std::string& argument) {
    for (const std::string_view word : words(*facts.command_line)) {
      if (word == argument) return true;
      // "pci=noaer,realloc=off" also sets pci=realloc=off.
      const std::size_t equals = argument.find('=');
      const std::string_view name = std::string_view(argument).substr(0, equals + 1);
      if (name != "pci=" || !word.starts_with(name)) continue;
      const std::string list = fmt::format(",{},", word.substr(name.size()));
      if (list.find(fmt::format(",{},", argument.substr(equals + 1))) != std::string::npos)
        return true;
    }
    return false;
  };
  const bool set = std::any_of(line.has.begin(), line.has.end(), is_set);
  result.verdict = set ? LineVerdict::pass : LineVerdict::fail;
  if (set) return result;
  result.reason = "not set";
  judge_effect(result, facts.findings);
  return result;
}

JudgedLine judge_fact(const LimitLine& line, const std::vector<Gpu>& gpus,
                      const MachineFacts& facts) {
  if (line.machine == "kernel-arguments") return judge_arguments(line, facts);
  if (line.machine == "gpus") {
    return judged(line, {{"", exactly(static_cast<double>(gpus.size())), "", false}});
  }
  if (line.machine == "memory") {
    return judged(line, {{"", facts.memory_bytes,
                          facts.memory_bytes ? "" : "/proc/meminfo cannot be read", false}});
  }
  std::optional<Interval> (*value)(const Gpu&) = nullptr;
  if (line.machine == "link-width") {
    value = [](const Gpu& gpu) -> std::optional<Interval> {
      return gpu.pcie.width ? std::optional(exactly(*gpu.pcie.width)) : std::nullopt;
    };
  } else if (line.machine == "link-speed") {
    // An idle GPU may lower its speed.
    value = [](const Gpu& gpu) -> std::optional<Interval> {
      if (!gpu.pcie.speed_gts) return std::nullopt;
      return Interval{*gpu.pcie.speed_gts,
                      std::max(*gpu.pcie.speed_gts, gpu.pcie.speed_max_gts.value_or(0))};
    };
  } else if (line.machine == "gpu-memory") {
    value = [](const Gpu& gpu) -> std::optional<Interval> {
      return gpu.memory_bytes ? std::optional(exactly(static_cast<double>(*gpu.memory_bytes)))
                              : std::nullopt;
    };
  } else {
    value = [](const Gpu& gpu) -> std::optional<Interval> {
      return gpu.power_cap_watts ? std::optional(exactly(*gpu.power_cap_watts)) : std::nullopt;
    };
  }
  JudgedLine result = judged(line, of_every_gpu(gpus, value));
  if (gpus.empty()) result.reason = "no such GPU was found";
  return result;
}

LineVerdict verdict_of(Judgement judgement) {
  if (judgement == Judgement::fail) return LineVerdict::fail;
  return judgement == Judgement::unknown ? LineVerdict::unknown : LineVerdict::pass;
}

/// Takes the worst of the check's findings.
JudgedLine judge_check(const LimitLine& line, const std::vector<FoldedFinding>& findings) {
  JudgedLine result;
  result.line = line;
  result.reason = "the check does not apply here";
  const auto worse_than = [](LineVerdict verdict) {
    return verdict == LineVerdict::fail ? 2 : verdict == LineVerdict::unknown ? 1 : 0;
  };
  for (const FoldedFinding& folded : findings) {
    if (folded.check->id != line.check) continue;
    const LineVerdict verdict = verdict_of(folded.finding.judgement);
    const bool is_first = result.subjects == 0;
    result.subjects += std::max<std::size_t>(1, folded.subjects.size());
    if (!is_first && worse_than(verdict) <= worse_than(result.verdict)) continue;
    result.verdict = verdict;
    result.reason = folded.finding.found;
    result.subject = fmt::format("{}", fmt::join(folded.subjects, ", "));
  }
  return result;
}

/// Judges what the doctor found, beside the lines of the file.
std::vector<JudgedLine> judge_diagnosis(const Limits& limits, Thoroughness thoroughness,
                                        const std::vector<FoldedFinding>& findings) {
  std::vector<JudgedLine> failed;
  bool any_failed = false;
  for (const FoldedFinding& folded : findings) {
    if (folded.finding.judgement != Judgement::fail) continue;
    any_failed = true;
    const auto named = [&](const LimitLine& line) {
      return line.check == folded.check->id && is_due(line, thoroughness);
    };
    if (std::any_of(limits.lines.begin(), limits.lines.end(), named)) continue;
    JudgedLine line;
    line.line.check = folded.check->id;
    line.line.source = folded.finding.source;
    line.verdict = LineVerdict::fail;
    line.subject = fmt::format("{}", fmt::join(folded.subjects, ", "));
    line.subjects = std::max<std::size_t>(1, folded.subjects.size());
    line.reason = folded.finding.found;
    failed.push_back(std::move(line));
  }
  // Failures that lines of the limits judge are shown there.
  if (any_failed || findings.empty()) return failed;
  JudgedLine line;
  line.line.check = "doctor";
  line.line.source = "docs/doctor.md";
  line.verdict = LineVerdict::pass;
  line.subjects = findings.size();
  line.reason = fmt::format("{} passed, {} warnings, {} unknown", count(findings, Judgement::pass),
                            count(findings, Judgement::warn), count(findings, Judgement::unknown));
  return {line};
}

/// Returns the size of the memory blocks that are online, as lsmem adds them; empty if the kernel
/// does not show them.
std::optional<double> online_memory(const Machine& machine) {
  const std::string folder = "sys/devices/system/memory";
  const Reading size = read_setting(machine, folder + "/block_size_bytes");
  if (!size.text) return std::nullopt;
  unsigned long long block = 0;
  const char* const end = size.text->data() + size.text->size();
  if (std::from_chars(size.text->data(), end, block, 16).ptr != end || block == 0)
    return std::nullopt;
  double bytes = 0;
  for (const std::string& name : machine.list(folder)) {
    if (!name.starts_with("memory")) continue;
    const Reading online = read_setting(machine, fmt::format("{}/{}/online", folder, name));
    if (online.text == "1") bytes += static_cast<double>(block);
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

std::optional<Interval> memory_of(const Machine& machine) {
  if (const auto bytes = online_memory(machine)) return exactly(*bytes);
  const Reading info = read_setting(machine, "proc/meminfo");
  const std::size_t at = info.text ? info.text->find("MemTotal:") : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  const std::vector<std::string_view> parts = words(std::string_view(*info.text).substr(at));
  const auto kib = parts.size() > 1 ? whole_number(parts[1]) : std::nullopt;
  if (!kib || *kib <= 0) return std::nullopt;
  // What firmware and kernel keep for themselves is missing: up to about 3%.
  constexpr double reserved = 1.03;
  const double bytes = static_cast<double>(*kib) * 1024;
  return Interval{bytes, bytes * reserved};
}

}  // namespace

std::string_view name_of(LineVerdict verdict) {
  switch (verdict) {
    case LineVerdict::pass:
      return "PASS";
    case LineVerdict::fail:
      return "FAIL";
    case LineVerdict::unknown:
      break;
  }
  return "UNKNOWN";
}

MachineFacts read_machine_facts(const Machine& machine, const Diagnosis& diagnosis) {
  MachineFacts facts;
  for (const Gpu& gpu : diagnosis.gpus) {
    if (gpu.visible.value_or(true)) facts.gpus.push_back(gpu);
  }
  facts.command_line = read_setting(machine, "proc/cmdline").text;
  facts.memory_bytes = memory_of(machine);
  facts.findings = fold(diagnosis);
  return facts;
}

std::string JudgedLine::found_text() const {
  std::string text;
  if (found) {
    text = quantity_text(found->low, line.unit);
    const std::string high = quantity_text(found->high, line.unit);
    if (high != text) text += " to " + high;
  }
  if (!subject.empty()) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", subject,
                        found && subjects > 1 ? fmt::format(" of {}", subjects) : "");
  }
  if (!reason.empty()) text += (text.empty() ? "" : ": ") + reason;
  return text;
}

bool is_due(const LimitLine& line, Thoroughness thoroughness) {
  return line.thoroughness <= thoroughness;
}

bool is_for_ranks(const LimitLine& line) {
  const Benchmark* benchmark = find_benchmark(line.benchmark);
  return benchmark != nullptr && benchmark->takes_team() && line.cell_to_run.text("ranks") != "1";
}

bool is_for_node(const LimitLine& line) {
  return is_peer_copy(line.cell_to_run);
}

static bool needs_several(const LimitLine& line) {
  return is_for_node(line) || is_for_ranks(line);
}

/// Returns the due lines that several devices measure together, if there is a single one and no
/// line asks for a number of GPUs; otherwise nothing.
static std::vector<LimitLine> unmeasured_lines(const Limits& limits, Thoroughness thoroughness,
                                               const std::map<std::string, std::string>& devices) {
  const bool several = devices.size() != 1 ||
                       std::any_of(limits.lines.begin(), limits.lines.end(),
                                   [](const LimitLine& line) { return line.machine == "gpus"; });
  std::vector<LimitLine> lines;
  for (const LimitLine& line : limits.lines) {
    if (!several && is_due(line, thoroughness) && needs_several(line)) lines.push_back(line);
  }
  return lines;
}

static bool are_all_due(const std::vector<LimitLine>& lines, const Limits& limits,
                        Thoroughness thoroughness) {
  const auto due = std::ranges::count_if(
      limits.lines, [&](const LimitLine& line) { return is_due(line, thoroughness); });
  return static_cast<std::ptrdiff_t>(lines.size()) == due;
}

std::vector<LimitLine> left_out_lines(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts) {
  std::vector<LimitLine> lines = unmeasured_lines(limits, thoroughness, devices_of(records, facts));
  if (are_all_due(lines, limits, thoroughness)) lines.clear();
  return lines;
}

std::string why_left_out(const LimitLine& line) {
  const Benchmark* benchmark = find_benchmark(line.benchmark);
  const bool measures_one =
      benchmark != nullptr && std::ranges::any_of(benchmark->axes(), [](const Axis& axis) {
        return axis.name == "ranks" && expand(axis, "1").ok();
      });
  return fmt::format("several devices measure it together, and there is one{}",
                     measures_one ? "; with ranks=1 the line is for one device" : "");
}

std::vector<JudgedLine> judge_machine(const Limits& limits, Thoroughness thoroughness,
                                      std::span<const Record> records, const MachineFacts& facts) {
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : facts.gpus) {
    if (is_about(limits, gpu.name, gpu.device_id)) gpus.push_back(gpu);
  }
  const std::map<std::string, std::string> devices = devices_of(records, facts);
  const std::vector<LimitLine> unmeasured = unmeasured_lines(limits, thoroughness, devices);
  const bool nothing_else = are_all_due(unmeasured, limits, thoroughness);
  std::vector<JudgedLine> lines;
  for (const LimitLine& line : limits.lines) {
    if (!is_due(line, thoroughness)) continue;
    if (!unmeasured.empty() && needs_several(line)) {
      if (!nothing_else) continue;
      JudgedLine unknown;
      unknown.line = line;
      unknown.reason = why_left_out(line);
      lines.push_back(std::move(unknown));
      continue;
    }
    if (!line.cell.empty()) {
      lines.push_back(judge_cell(line, records, devices));
      if (facts.emulated && lines.back().subjects == 0) lines.back().reason = no_real_time;
    } else if (!line.machine.empty()) {
      lines.push_back(judge_fact(line, gpus, facts));
    } else {
      lines.push_back(judge_check(line, facts.findings));
    }
  }
  for (JudgedLine& line : judge_diagnosis(limits, thoroughness, facts.findings))
    lines.push_back(std::move(line));
  return lines;
}

LineVerdict verdict_of(std::span<const JudgedLine> lines) {
  LineVerdict worst = LineVerdict::pass;
  for (const JudgedLine& line : lines) {
    if (line.verdict == LineVerdict::fail) return LineVerdict::fail;
    if (line.verdict == LineVerdict::unknown) worst = LineVerdict::unknown;
  }
  return worst;
}

std::string device_name(const DeviceFacts& facts) {
  return fmt::format("{}:{}", facts.backend, facts.ordinal);
}

std::string device_label(const DeviceFacts& facts) {
  return device_name(facts) + (facts.pci.empty() ? "" : ", " + facts.pci);
}

}  // namespace assay::health
