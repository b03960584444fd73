// Diagnoses as lines of text, for tests to compare.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "advise/doctor/doctor.h"
#include "cli/advise/doctor_view.h"

namespace assay {

using Ids = std::vector<std::string>;  ///< of checks

inline Intent multi_node() {
  Intent intent;
  intent.multi_node = true;
  return intent;
}

inline Intent with_gpus(int gpus) {
  Intent intent;
  intent.gpus = gpus;
  return intent;
}

inline Finding first_finding(const Machine& machine, const std::string& id,
                             const Intent& intent = {}) {
  const auto checks = find_checks(Ids{id});
  const Diagnosis diagnosis = diagnose(machine, intent, *checks);
  if (diagnosis.results.front().findings.empty()) return {};
  return diagnosis.results.front().findings.front();
}

/// "WARN smt: on", "PASS ecc [GPU 0-7]: on"; only of `ids` if there are any. The last line names
/// the checks that do not apply: "n/a smt acs".
inline std::vector<std::string> lines(const Machine& machine, const Intent& intent = {},
                                      const std::vector<std::string>& ids = {}) {
  std::vector<std::string> text;
  const auto checks = find_checks(ids);
  if (!checks.ok()) return {checks.error().message};
  const Diagnosis diagnosis = diagnose(machine, intent, *checks);
  for (const FoldedFinding& folded : fold(diagnosis)) {
    const std::string subjects = cli::subjects_text(folded.subjects);
    text.push_back(fmt::format("{} {}{}: {}", name_of(folded.finding.judgement), folded.check->id,
                               subjects.empty() ? "" : " [" + subjects + "]",
                               folded.finding.found));
  }
  std::string not_applicable;
  for (const CheckResult& result : diagnosis.results) {
    if (result.findings.empty()) not_applicable += fmt::format(" {}", result.check->id);
  }
  if (!not_applicable.empty()) text.push_back("n/a" + not_applicable);
  return text;
}

}  // namespace assay
