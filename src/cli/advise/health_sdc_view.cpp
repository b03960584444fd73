#include "cli/advise/health_sdc_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "cli/table.h"
#include "core/shown_text.h"
#include "core/units.h"

namespace assay::cli {
namespace {

using health::SdcCoverage;
using health::SdcDifference;
using health::SdcOutcome;
using health::SdcUnit;
using health::SdcVerdict;

constexpr std::size_t most_sdc_text = 300;

std::string units_table(const SdcOutcome& outcome, std::size_t width, const Style& style) {
  constexpr auto right = Column::Align::right;
  Table table({{"unit"},
               {"runs", right},
               {"operations", right},
               {"time", right},
               {"compared", right},
               {"with"}});
  for (const SdcUnit& unit : outcome.units) {
    if (!unit.left_out.empty()) continue;
    table.add({shown_line(unit.name, most_sdc_text), std::to_string(unit.runs),
               std::to_string(unit.operations.size()), format_seconds(unit.seconds),
               format_memory(static_cast<std::uint64_t>(unit.checked_bytes)),
               fmt::format("{}", fmt::join(unit.compared, ", "))});
  }
  return table.empty() ? "" : table.render(width, style);
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string power_text(const health::PowerSeen& power) {
  std::string text;
  const double known = power.seconds - power.unknown_seconds;
  if (power.limited_seconds && known > 0) {
    text = fmt::format("at the power limit in {} of {} ({})", format_clock(*power.limited_seconds),
                       format_clock(known), format_share(*power.limited_seconds / known));
    if (power.unknown_seconds > 0) {
      text += fmt::format(", unknown in {} more", format_clock(power.unknown_seconds));
    }
  } else {
    text = "time at the power limit unknown";
  }
  if (power.mean_watts) text += fmt::format(", {:.0f} W on average", *power.mean_watts);
  if (power.max_watts) text += fmt::format(", at most {:.0f} W", *power.max_watts);
  return text;
}

/// What was covered of one device.
std::string coverage_text(const SdcCoverage& one, int ranks) {
  const std::string memory =
      one.pattern_bytes == 0
          ? "no patterns in memory"
          : fmt::format("patterns in {} of {} of memory at once ({})",
                        format_memory(one.pattern_bytes), format_memory(one.memory_bytes),
                        format_share(share_of(one.pattern_bytes, one.memory_bytes)));
  const std::string multiprocessors =
      one.multiprocessors_seen
          ? fmt::format("{} of {} multiprocessors", *one.multiprocessors_seen, one.multiprocessors)
          : "multiprocessors unknown";
  return fmt::format(
      "Covered{}: {}, {} held by units; {}; {} units, {} repetitions, {} operations: {} and {} in "
      "{}; {}.\n",
      ranks > 1 ? fmt::format(" on rank {}, {}", one.rank, shown_line(one.device, most_sdc_text))
                : "",
      memory, format_memory(one.unit_bytes), multiprocessors, one.units, one.runs, one.operations,
      format_in(one.flops, "FLOP"), format_in(one.bytes, "B"), format_clock(one.seconds),
      power_text(one.power));
}

/// Says that the test itself changed results.
std::string planted_text(const SdcOutcome& outcome, const Style& style) {
  if (outcome.planted_faults.empty()) return "";
  std::string text = style.bold("PLANTED") + " ";
  text += outcome.planted > 0
              ? fmt::format(
                    "The test itself changed a result {} times, so this verdict says "
                    "nothing about the device:",
                    outcome.planted)
              : "No fault was planted: no unit ran that often, or its operation writes nothing:";
  for (const std::string& fault : outcome.planted_faults) {
    text += fmt::format(" \"{}\"", shown_line(fault, most_sdc_text));
  }
  return text + "\n";
}

std::string limits_text(const SdcOutcome& outcome) {
  std::vector<std::string> rates;
  if (outcome.faults_per_device_hour) {
    rates.push_back(fmt::format("{:.3g} in a device's hour", *outcome.faults_per_device_hour));
  }
  if (outcome.faults_per_1e15_flops) {
    rates.push_back(fmt::format("{:.3g} in 10^15 operations", *outcome.faults_per_1e15_flops));
  }
  if (outcome.faults_per_1e15_bytes) {
    rates.push_back(fmt::format("{:.3g} in 10^15 bytes moved", *outcome.faults_per_1e15_bytes));
  }
  if (rates.empty()) return "";
  // A fault in every repetition of a device shows only beside others.
  const bool beside = std::ranges::all_of(outcome.units, [](const SdcUnit& unit) {
    return !unit.left_out.empty() || unit.operations.empty() || unit.compared.size() > 1;
  });
  return fmt::format("Faults that {} would have been seen with 95% if a device had {}.\n",
                     beside ? "change a result" : "come and go", fmt::join(rates, ", "));
}

std::string advice(const SdcOutcome& outcome) {
  bool again = false;
  for (const SdcDifference& one : outcome.differences) again = again || one.replayed > 0;
  return fmt::format(
      "What to do: take no results from this device. {} `assay doctor` shows counted memory "
      "errors. "
      "If a second run differs again, replace the device, and send its vendor the result file.\n",
      again ? "It differs when replayed, so the fault is easy to show."
            : "Run the test again, longer: the fault comes and goes.");
}

/// Returns the verdict in capitals and in its colour: "CORRUPT".
std::string shown_verdict(SdcVerdict verdict, const Style& style) {
  const std::string_view name = health::name_of(verdict);
  if (verdict == SdcVerdict::sound) return style.green(name);
  return verdict == SdcVerdict::corrupt ? style.red(name) : style.bold(name);
}

}  // namespace

std::string difference_text(const SdcDifference& difference, const Style& style) {
  std::string text =
      fmt::format("{} {}, run {}, on {}{}\n  differs from {}, first in operation {}: {}\n",
                  style.red("wrong"), difference.unit, difference.run,
                  difference.rank > 0 ? fmt::format("rank {}, ", difference.rank) : "",
                  difference.device, difference.against, difference.launch, difference.operation);
  if (difference.buffer > 0) {
    text += fmt::format("  buffer {}, byte {}, address 0x{:x}", difference.buffer,
                        difference.offset, difference.address);
    if (difference.expected && difference.found) {
      const std::uint64_t bits = *difference.expected ^ *difference.found;
      text +=
          fmt::format(": expected {:016x}, found {:016x}, bits {:016x} ({} of 64); {} such words",
                      *difference.expected, *difference.found, bits, std::popcount(bits),
                      difference.wrong_words);
    } else {
      text += fmt::format(", {} blocks; later operations have overwritten the value",
                          difference.wrong_blocks);
    }
    text += "\n";
  }
  if (difference.replays > 0) {
    text += fmt::format("  {} of {} replays differ{}\n", difference.replayed, difference.replays,
                        difference.replayed == 0 ? ": the fault comes and goes" : "");
  }
  const std::string before = text_of(difference.before), after = text_of(difference.after);
  if (!before.empty()) text += "  before: " + before + "\n";
  if (!after.empty()) text += "  after:  " + after + "\n";
  return text;
}

std::string sdc_text(const SdcOutcome& outcome, std::size_t width, const Style& style) {
  std::string text =
      fmt::format("{}  {}{}: {}, in {}\n", shown_verdict(outcome.verdict, style),
                  shown_line(outcome.device, most_sdc_text),
                  outcome.ranks > 1 ? fmt::format(" and {} more", outcome.ranks - 1) : "",
                  shown_line(outcome.why, most_sdc_text), format_clock(outcome.seconds));
  text += planted_text(outcome, style);
  text += units_table(outcome, width, style);
  for (const SdcUnit& unit : outcome.units) {
    if (!unit.left_out.empty()) {
      text += style.dim("left out ") + shown_line(unit.name + ": " + unit.left_out, most_sdc_text) +
              "\n";
    } else if (!unit.note.empty()) {
      text += style.dim("note ") + shown_line(unit.name + ": " + unit.note, most_sdc_text) + "\n";
    }
  }
  for (const SdcCoverage& one : outcome.coverage) text += coverage_text(one, outcome.ranks);
  for (const std::string& note : outcome.notes) {
    text += style.dim("note ") + shown_line(note, most_sdc_text) + "\n";
  }
  text += limits_text(outcome);
  for (const SdcDifference& difference : outcome.differences) {
    text += difference_text(difference, style);
  }
  if (outcome.difference_count > outcome.differences.size()) {
    text += fmt::format("and {} more\n", outcome.difference_count - outcome.differences.size());
  }
  if (outcome.verdict == SdcVerdict::corrupt && outcome.planted == 0) text += advice(outcome);
  return text;
}

}  // namespace assay::cli
