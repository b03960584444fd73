#include "advise/tune/gemm/gemm_journal.h"

#include <vector>

#include "core/json.h"

namespace assay {
namespace {

Result<std::map<std::string, ProductOutcome>> outcomes_of(const std::filesystem::path& folder,
                                                          const std::vector<Json>& steps) {
  std::map<std::string, ProductOutcome> done;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto outcome = outcome_from_json(steps[i]);
    if (!outcome.ok()) return TuningJournal::about_step(folder, i, outcome.error());
    std::string problem = outcome->problem;
    done[std::move(problem)] = std::move(outcome).value();
  }
  return done;
}

}  // namespace

Result<std::map<std::string, ProductOutcome>> GemmJournal::read(
    const std::filesystem::path& folder) {
  return outcomes_of(folder, TRY(TuningJournal::read(folder, what)).steps);
}

Result<GemmJournal> GemmJournal::open(const std::filesystem::path& folder, const Json& identity) {
  GemmJournal journal(TRY(TuningJournal::open(folder, identity)));
  journal.done_ = TRY(outcomes_of(folder, journal.journal_.steps()));
  return journal;
}

Status GemmJournal::append(const ProductOutcome& outcome) {
  TRY(journal_.append(to_json(outcome)));
  done_[outcome.problem] = outcome;
  return {};
}

}  // namespace assay
