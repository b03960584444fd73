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
/// The value of --out that means no store: everything goes to standard output.
inline constexpr const char* pipe = "-";

/// Sets `store` to that in `folder` and saves the environment there. If `folder` is `pipe`, leaves
/// `store` empty and prints the environment as the first line. Returns its id, fingerprint_id().
/// Error: as Store::open() and Store::append_fingerprint().
Result<std::string> keep_fingerprint(const std::string& folder, const Json& fingerprint,
                                     std::optional<Store>& store, Terminal& terminal);
/// Returns the value of --telemetry, or `otherwise` without it, as seconds between readings; 0:
/// off. Error: usage.
Result<double> telemetry_interval(const Arguments& arguments, std::string_view otherwise);

}  // namespace assay::cli
