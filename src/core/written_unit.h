// Units as people write them in files, and those in which metrics are stored.
#pragma once

#include <string_view>

#include "core/result.h"

namespace assay {

struct WrittenUnit {
  std::string_view written, unit;  ///< "GB/s", "bytes/s"
  double factor = 1;               ///< multiply by it to get the value in `unit`
};

/// Error: usage, with the units that are allowed.
Result<WrittenUnit> written_unit(std::string_view text);

}  // namespace assay
