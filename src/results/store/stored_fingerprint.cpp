#include "results/store/stored_fingerprint.h"

#include <fmt/format.h>

#include <sstream>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "results/store/store.h"

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
  const std::map<std::string, Json> fingerprints = read_stored_fingerprints(folder);
  const auto at = fingerprints.find(id);
  if (at != fingerprints.end()) return at->second;
  return Error{ErrorKind::usage, fmt::format("{} does not hold the fingerprint {} of that run",
                                             (folder / "fingerprints.jsonl").string(), id)};
}

std::map<std::string, Json> read_stored_fingerprints(const std::filesystem::path& folder) {
  std::map<std::string, Json> fingerprints;
  std::istringstream lines(read_file(folder / "fingerprints.jsonl").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    auto entry = parse_json(line);
    if (!entry.ok() || !entry->is_object()) continue;
    const auto id = entry->find("id"), fingerprint = entry->find("fingerprint");
    if (id == entry->end() || !id->is_string()) continue;
    if (fingerprint == entry->end() || !fingerprint->is_object()) continue;
    fingerprints.emplace(id->get<std::string>(), *fingerprint);
  }
  return fingerprints;
}

}  // namespace assay
