#include "cli/judge/gate_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/judge/compare_view.h"
#include "core/units.h"
#include "judge/report/escape.h"

namespace assay::cli {
namespace {

using report::escape_html;
using report::escape_markdown;

std::string name_of_gated(const CellComparison& cell) {
  return cell.key.cell + " " + cell.key.metric;
}

/// "bubblewrap" of "campaigns/nightly/bubblewrap".
std::string short_name(const std::string& side) {
  const std::string name = std::filesystem::path(side).filename();
  return name.empty() ? side : name;
}

std::string change_of_gated(const CellComparison& cell) {
  return fmt::format("{} to {}, {}", format_in(cell.median_a, cell.unit),
                     format_in(cell.median_b, cell.unit), change_text(cell));
}

std::string json_text(const Json& value) {
  return value.is_null() ? "absent" : value.is_string() ? value.get<std::string>() : value.dump();
}

/// Rows of cells with one of these verdicts, the largest changes first.
std::string changed_cells(const Comparison& comparison) {
  std::vector<const CellComparison*> changed;
  for (const CellComparison& cell : comparison.cells) {
    const Verdict verdict = cell.judgement.verdict;
    if (is_different(verdict) || verdict == Verdict::invalid) changed.push_back(&cell);
  }
  if (changed.empty()) return "";
  std::ranges::stable_sort(changed, [](const CellComparison* a, const CellComparison* b) {
    return a->effect.mean > b->effect.mean;
  });
  constexpr std::size_t most = 20;
  std::string text = "\n| cell | A | B | B against A | verdict |\n|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) {
    const CellComparison& cell = *changed[i];
    text += fmt::format("| {} | {} | {} | {} | {} |\n", escape_markdown(name_of_gated(cell)),
                        format_in(cell.median_a, cell.unit), format_in(cell.median_b, cell.unit),
                        escape_markdown(change_text(cell)), name_of(cell.judgement.verdict));
  }
  if (changed.size() > most) text += fmt::format("\n{} more cells.\n", changed.size() - most);
  return text;
}

std::string causes(const Comparison& comparison) {
  if (comparison.environment.empty()) return "\nNo difference between the environments is known.\n";
  constexpr std::size_t most = 5;
  std::string text = "\nWhat differs between the environments, likeliest cause first:\n\n";
  const std::size_t shown = std::min(most, comparison.environment.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Difference& one = comparison.environment[i];
    text += fmt::format("- {}: {} in A, {} in B ({}). {}\n", escape_markdown(one.path),
                        escape_markdown(json_text(one.a)), escape_markdown(json_text(one.b)),
                        name_of(one.likelihood), escape_markdown(one.why));
  }
  if (comparison.environment.size() > most) {
    text +=
        fmt::format("- {} more, see `assay compare --all`\n", comparison.environment.size() - most);
  }
  return text;
}

/// GitHub ends a message at the line's end.
std::string annotation_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '%' || c == '\r' || c == '\n') {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string gate_comment(std::span<const GatedComparison> all, const RegressionGate& gate,
                         std::string_view command) {
  std::string text;
  for (const auto& [comparison, result] : all) {
    const std::size_t alarms = result.alarms.size();
    const std::string outcome =
        !result.invalid.empty() ? "no verdict"
        : alarms > 0 ? fmt::format("{} cell{} slower", alarms, alarms == 1 ? " is" : "s are")
                     : "no alarm";
    text +=
        fmt::format("### {} against {}: {}\n\n{}\n", escape_markdown(short_name(comparison.name_b)),
                    escape_markdown(short_name(comparison.name_a)), outcome,
                    escape_markdown(sentence(comparison)));
    if (comparison.emulated) text += "\nDevices are emulated: the verdict is about a model.\n";
    text += changed_cells(comparison);
    if (alarms > 0) text += causes(comparison);
    text += fmt::format("\nThis gate: {}.\n\n", gate_sentence(gate, result));
  }
  return text + fmt::format("Repeat it with `{}`.\n", escape_markdown(command));
}

std::string gate_junit(std::span<const GatedComparison> all, const RegressionGate& gate) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [comparison, result] : all) {
    std::string cases;
    std::size_t skipped = 0;
    for (const CellComparison& cell : comparison.cells) {
      const Verdict verdict = cell.judgement.verdict;
      const auto is_among = [&](const std::vector<const CellComparison*>& some) {
        return std::ranges::find(some, &cell) != some.end();
      };
      std::string inside;
      const std::string reason = escape_html(cell.judgement.reason);
      if (is_among(result.alarms)) {
        inside = fmt::format("<failure message=\"{}\">{}</failure>", reason,
                             escape_html(change_of_gated(cell)));
      } else if (verdict == Verdict::invalid) {
        inside = fmt::format("<error message=\"{}\"/>", reason);
      } else if (verdict == Verdict::inconclusive || verdict == Verdict::unstable) {
        inside = fmt::format("<skipped message=\"{}\"/>", reason);
        ++skipped;
      }
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n",
                           escape_html(cell.benchmark), escape_html(name_of_gated(cell)), inside);
    }
    text += fmt::format(
        "  <testsuite name=\"{} against {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
        "skipped=\"{}\">\n{}    <system-out>{}</system-out>\n  </testsuite>\n",
        escape_html(short_name(comparison.name_b)), escape_html(short_name(comparison.name_a)),
        comparison.cells.size(), result.alarms.size(), result.invalid.size(), skipped, cases,
        escape_html(gate_sentence(gate, result)));
  }
  return text + "</testsuites>\n";
}

std::string gate_annotations(std::span<const GatedComparison> all) {
  std::string text;
  const auto add = [&](std::string_view title, const std::string& message) {
    text += fmt::format("::error title={}::{}\n", title, annotation_text(message));
  };
  for (const auto& [comparison, result] : all) {
    for (const CellComparison* cell : result.alarms) {
      add("slower", name_of_gated(*cell) + ": " + change_of_gated(*cell));
    }
    for (const CellComparison* cell : result.invalid) {
      add("no verdict", name_of_gated(*cell) + ": " + cell->judgement.reason);
    }
  }
  return text;
}

}  // namespace assay::cli
