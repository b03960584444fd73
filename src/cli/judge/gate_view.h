// What a gate says to the tools around it: a comment for a pull request, JUnit, annotations. Pure
// functions.
#pragma once

#include <span>
#include <string>

#include "judge/compare/regression_gate.h"

namespace assay::cli {

struct GatedComparison {
  Comparison comparison;
  GateOutcome result;  ///< of `comparison`
};

/// Returns Markdown: the verdict, the gate's error rates, up to 20 cells that changed or are
/// INVALID, after an alarm what differs between the environments, and `command`, which repeats the
/// gate.
std::string gate_comment(std::span<const GatedComparison> all, const RegressionGate& gate,
                         std::string_view command);

/// Returns JUnit's XML: a test suite for each comparison and a test case for each cell; alarms are
/// failures, INVALID cells errors, and cells without a decision are skipped with the reason.
std::string gate_junit(std::span<const GatedComparison> all, const RegressionGate& gate);

/// Returns a line of GitHub's workflow commands ("::error title=...::...") for each alarm and each
/// INVALID cell.
std::string gate_annotations(std::span<const GatedComparison> all);

}  // namespace assay::cli
