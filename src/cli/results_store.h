// Says where a command's records go: a store's folder, or only standard output.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "results/store/store.h"

namespace assay::cli {

inline constexpr const char* default_folder = "assay-results";
inline constexpr const char* pipe =
    "-";  ///< value of --out: no store, everything to standard output

/// Opens the store in `folder` and saves the environment there; without a store, prints it as the
/// first line. Returns its id. Error: from the store.
Result<std::string> keep_fingerprint(const std::string& folder, const Json& fingerprint,
                                     std::optional<Store>& store, Terminal& terminal);

/// The value of --telemetry as seconds between readings; 0: off. Error: usage.
Result<double> telemetry_interval(const Arguments& arguments, std::string_view otherwise);

}  // namespace assay::cli
