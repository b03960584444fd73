// The environments stored in a store.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// The fingerprint of the run `run`, or of the run that wrote last if `run` is empty. `folder`: a
/// store written by `assay run --out`. Error: usage, naming the folder and what is missing.
Result<Json> read_stored_fingerprint(const std::filesystem::path& folder, std::string_view run);

/// All fingerprints of a store, by id; invalid lines are skipped. Empty if there is no such file.
std::map<std::string, Json> read_stored_fingerprints(const std::filesystem::path& folder);

}  // namespace assay
