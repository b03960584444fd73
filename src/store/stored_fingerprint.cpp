#include "store/stored_fingerprint.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/read_file.h"
#include "store/store.h"

namespace assay {

Result<Json> read_stored_fingerprint(const std::filesystem::path& folder, std::string_view run) {
  const StoredRecords stored = TRY(read_records(folder));
  std::string id;
  for (const Record& record : stored.records) {
    if (run.empty() || record.run == run) id = record.fingerprint;
  }
  if (id.empty()) {
    return Error{ErrorKind::usage,
                 run.empty() ? fmt::format("{} holds no records", folder.string())
                             : fmt::format("{} holds no run {}; `assay show {}` lists its runs",
                                           folder.string(), run, folder.string())};
  }
  std::istringstream lines(read_file(folder / "fingerprints.jsonl").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("fingerprint") || !entry.contains("id")) continue;
    if (entry["id"] == id) return entry["fingerprint"];
  }
  return Error{ErrorKind::usage, fmt::format("{} does not hold the fingerprint {} of that run",
                                             (folder / "fingerprints.jsonl").string(), id)};
}

}  // namespace assay
