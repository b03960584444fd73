// Reads the environments stored in a store.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// Returns the fingerprint of the run `run`, or of the run that wrote last if `run` is empty.
/// `folder` is a store. Error: as read_records() (store.h); usage, naming the folder and what is
/// missing.
Result<Json> read_stored_fingerprint(const std::filesystem::path& folder, std::string_view run);

/// Returns all fingerprints of a store, by id; invalid lines are skipped. Empty if the file is
/// missing or cannot be read.
std::map<std::string, Json> read_stored_fingerprints(const std::filesystem::path& folder);

}  // namespace assay
