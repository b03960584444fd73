// Reverts MIOpen's databases after a tuning, so that only records that were proven faster stay.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "advise/tune/conv/convolution_outcome.h"
#include "advise/tune/conv/miopen_databases.h"
#include "core/result.h"

namespace assay {

/// What was reverted, and what could not be.
struct TakenBack {
  std::size_t records = 0;       ///< records that were restored or, if they are new, removed
  std::size_t convolutions = 0;  ///< convolutions that were not proven faster
  /// Names of changed databases that are not text files. Their records of these convolutions cannot
  /// be restored and stay.
  std::vector<std::string> unmended;
};

/// Restores the records of all convolutions that were not proven faster to their state in `origin`:
/// slower, equal and undecided ones, wrong and failed ones, and those never measured. `folder`
/// holds the databases, which no program may be using. Sets ConvolutionOutcome::stays of these
/// convolutions if TakenBack::unmended has a database. Error: as restore_records() and
/// read_miopen_databases().
Result<TakenBack> take_back_unproven(const std::filesystem::path& folder,
                                     const MiopenDatabases& origin,
                                     std::vector<ConvolutionOutcome>& outcomes);

}  // namespace assay
