// The environments kept in a store.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "measure/store/record.h"

namespace assay {

/// The fingerprint of the store's run `run`; of the run that wrote last if that is empty. `folder`:
/// one that `assay run --out` wrote. Error: usage, naming the folder and what is missing.
Result<Json> read_stored_fingerprint(const std::filesystem::path& folder, std::string_view run);

/// All of a store's, by id; lines that are none are left out. Empty if there is no such file.
std::map<std::string, Json> read_stored_fingerprints(const std::filesystem::path& folder);

}  // namespace assay
