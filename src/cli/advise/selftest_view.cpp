#include "cli/advise/selftest_view.h"

#include <fmt/format.h>

#include "advise/selftest/suspects.h"
#include "cli/table.h"
#include "core/shown_text.h"
#include "core/units.h"

namespace assay::cli {
namespace {

using selftest::Check;
using selftest::CheckOutcome;
using selftest::Outcome;

constexpr std::size_t most_detail = 300;

std::string coloured(Outcome outcome, std::string_view text, const Style& style) {
  if (outcome == Outcome::passed) return style.green(text);
  if (is_fault(outcome)) return style.red(text);
  return style.dim(text);
}

std::string needs_of(const Check& check) {
  if (check.devices > 1) return fmt::format("{} devices", check.devices);
  return check.accelerator ? "GPU" : "";
}

std::string machine_line(const selftest::Machine& machine) {
  if (machine.device.empty()) return "no device could be opened";
  return shown_line(
      fmt::format("{} x {}, {}{}{}, {} multiprocessors, {}{}", std::max(machine.devices, 1),
                  machine.device, machine.arch, machine.partition.empty() ? "" : ", ",
                  machine.partition, machine.multiprocessors, format_memory(machine.memory_bytes),
                  machine.emulated ? ", emulated" : ""),
      most_detail);
}

}  // namespace

std::string checks_text(const std::vector<const Check*>& checks, std::size_t width,
                        const Style& style) {
  Table table({{"check"}, {"topic"}, {"passes if"}, {"needs"}});
  for (const Check* check : checks) {
    table.add({std::string(check->name), std::string(name_of(check->topic)),
               std::string(check->about), needs_of(*check)});
  }
  return table.render(width, style);
}

std::string outcome_line(const Check& check, const CheckOutcome& outcome, const Style& style) {
  const std::string word =
      coloured(outcome.outcome, fmt::format("{:<9}", name_of(outcome.outcome)), style);
  const std::string detail = shown_line(outcome.detail, most_detail);
  if (outcome.outcome != Outcome::passed) {
    return fmt::format("{} {:<28} {}\n", word, check.name, detail);
  }
  return fmt::format("{} {:<28} {}{}\n", word, check.name, check.about,
                     detail.empty() ? "" : style.dim(" (" + detail + ")"));
}

std::string tally_text(const selftest::Tally& tally, const Style& style) {
  std::string text = style.green(fmt::format("{} passed", tally.passed));
  const std::string faults = fmt::format("{} wrong", tally.faults);
  text += ", " + (tally.faults > 0 ? style.red(faults) : faults);
  if (tally.untested > 0) {
    text += fmt::format(", {} could not be tested on this machine", tally.untested);
  }
  if (tally.stopped > 0) text += fmt::format(", {} stopped", tally.stopped);
  return text;
}

std::string explanation(const selftest::Report& report, const Style& style) {
  std::string text = style.bold(machine_line(report.machine)) + "\n";
  text += shown_line(fmt::format("assay {}, {}, Linux {}", report.assay, report.day,
                                 report.kernel.empty() ? "unknown" : report.kernel),
                     most_detail) +
          "\n";
  for (const auto& [role, version] : report.machine.libraries) {
    text += "  " + shown_line(role + " " + version, most_detail) + "\n";
  }
  text += tally_text(count(report.outcomes), style) + "\n";
  for (const CheckOutcome& outcome : report.outcomes) {
    if (!is_fault(outcome.outcome)) continue;
    text += fmt::format("  {} {}: {}\n", style.red(name_of(outcome.outcome)),
                        shown_line(outcome.check, most_detail),
                        shown_line(outcome.detail, most_detail));
  }
  text += "\n" + style.bold("What only the hardware can tell") + "\n";
  for (const selftest::SuspectAnswer& answer : answers_in(report)) {
    const bool no = answer.verdict == selftest::Verdict::no;
    const std::string word = answer.verdict == selftest::Verdict::yes ? style.green("yes ")
                             : no                                     ? style.red("NO  ")
                                                                      : style.dim("open");
    text += fmt::format("  {} {}\n", word, answer.suspect->question);
    if (!answer.because.empty()) {
      text += "       " + style.dim(shown_line(answer.because, most_detail)) + "\n";
    }
    if (no) text += fmt::format("       {}\n", answer.suspect->if_not);
  }
  return text;
}

}  // namespace assay::cli
