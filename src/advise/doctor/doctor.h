// Runs the checks. Everything is read through Machine, so a capture of another machine is diagnosed
// like this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/doctor/check.h"
#include "core/result.h"

namespace assay {

/// What one check found.
struct CheckResult {
  const Check* check = nullptr;
  std::vector<Finding> findings;  ///< empty: the check does not apply
};

/// What the checks looked at, and what they found.
struct Diagnosis {
  std::vector<Gpu> gpus;  ///< every GPU of the machine
  Virtualization virtualization;
  std::optional<Version> rocm;       ///< version of ROCm; empty: none was found
  std::vector<CheckResult> results;  ///< one for each check that ran, in the given order
};

/// Findings of one check that differ only in their subject, such as those of eight GPUs, merged
/// into one.
struct FoldedFinding {
  const Check* check = nullptr;
  Finding finding;                    ///< the first of the folded findings
  std::vector<std::string> subjects;  ///< empty: the whole machine
};
/// Returns the folded findings of all checks, in the order of their results.
std::vector<FoldedFinding> fold(const Diagnosis& diagnosis);
/// Returns how many folded findings have this judgement.
std::ptrdiff_t count(const std::vector<FoldedFinding>& findings, Judgement judgement);

/// Returns every check, sorted by topic and then by id.
std::vector<const Check*> all_checks();
/// Returns the checks with these ids, in the order of all_checks(); all if `ids` is empty. Error:
/// usage for an unknown id, naming the nearest one.
Result<std::vector<const Check*>> find_checks(std::span<const std::string> ids);

/// Runs the checks. `live` says that `machine` is this one, running: a check may read twice, a
/// moment apart, and judge what happened in between.
Diagnosis diagnose(const Machine& machine, const Intent& intent,
                   std::span<const Check* const> checks, bool live = false);

/// Returns the diagnosis with folded findings as JSON: {"machine": ..., "findings": [...],
/// "not_applicable": [ids], "counts": {...}}.
Json to_json(const Diagnosis& diagnosis);

}  // namespace assay
