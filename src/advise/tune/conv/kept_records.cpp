#include "advise/tune/conv/kept_records.h"

namespace assay {

Result<TakenBack> take_back_unproven(const std::filesystem::path& folder,
                                     const MiopenDatabases& origin,
                                     std::vector<ConvolutionOutcome>& outcomes) {
  TakenBack taken;
  std::vector<std::string> keys;
  for (const ConvolutionOutcome& outcome : outcomes) {
    if (outcome.faster) continue;
    ++taken.convolutions;
    const ConvolutionProblem& problem = outcome.convolution.problem;
    keys.insert(keys.end(), {find_database_key(problem), performance_database_key(problem)});
  }
  if (keys.empty()) return taken;
  taken.records = TRY(restore_records(folder, origin, keys));
  for (const DatabaseChange& change :
       database_changes(origin, TRY(read_miopen_databases(folder)))) {
    if (!is_text_database(change.file)) taken.unmended.push_back(change.file);
  }
  for (ConvolutionOutcome& outcome : outcomes) {
    outcome.stays = !outcome.faster && !taken.unmended.empty();
  }
  return taken;
}

}  // namespace assay
