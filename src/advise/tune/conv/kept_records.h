// What of a tuning stays in MIOpen's databases: only what was proven to be faster.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "advise/tune/conv/convolution_outcome.h"
#include "advise/tune/conv/miopen_databases.h"
#include "core/result.h"

namespace assay {

struct TakenBack {
  std::size_t records = 0;       ///< that are again what they were
  std::size_t convolutions = 0;  ///< that were not proven to be faster
  /// Databases that are no text and have changed: what they have of these convolutions stays.
  std::vector<std::string> unmended;
};

/// Makes the records of all convolutions that were not proven to be faster, in the databases in
/// `folder`, which no program may be using, what they were in `origin`: slower, equal and undecided
/// ones, wrong and broken ones, and those that were never measured. Sets ConvolutionOutcome::stays
/// where that cannot be done. Error: usage, exhausted, as from restore_records().
Result<TakenBack> take_back_unproven(const std::filesystem::path& folder,
                                     const MiopenDatabases& origin,
                                     std::vector<ConvolutionOutcome>& outcomes);

}  // namespace assay
