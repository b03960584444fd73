// Where a command's records go: a store's folder, or standard output alone.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal.h"
#include "core/result.h"
#include "measure/store/store.h"

namespace assay::cli {

inline constexpr const char* default_folder = "assay-results";
inline constexpr const char* pipe = "-";  ///< as --out: no store, everything to standard output

/// Opens the store in `folder` and keeps the environment there, or prints it as the first line
/// where there is no store. Returns its id. Error: of the store.
Result<std::string> keep_fingerprint(const std::string& folder, const Json& fingerprint,
                                     std::optional<Store>& store, Terminal& terminal);

/// --telemetry: seconds between ticks; 0: off. Error: usage.
Result<double> parse_telemetry(const std::string& text);

}  // namespace assay::cli
