#include "system/fingerprint.h"

#include <algorithm>

#include "core/json.h"
#include "store/record.h"

namespace assay {
namespace {

Json backend_facts(Backend& backend) {
  Json json;
  Json libraries = Json::array();
  for (const LibraryFact& library : backend.libraries()) {
    if (library.path.empty()) continue;
    Json fact = {{"role", library.role}, {"path", library.path}};
    if (!library.version.empty()) fact["version"] = library.version;
    libraries.push_back(std::move(fact));
  }
  Json devices = Json::array();
  for (const DeviceFacts& facts : backend.devices()) devices.push_back(to_json(facts));
  json["libraries"] = std::move(libraries);
  json["devices"] = std::move(devices);
  return json;
}

}  // namespace

Json take_fingerprint(const std::vector<std::unique_ptr<Backend>>& backends,
                      const Machine& machine) {
  std::vector<FactSource> sources = FactRegistry::entries();
  std::sort(sources.begin(), sources.end(),
            [](const FactSource& a, const FactSource& b) { return a.section < b.section; });
  Json json;
  for (const FactSource& source : sources) {
    Json facts = source.read(machine);
    if (!facts.is_null()) json[std::string(source.section)] = std::move(facts);
  }
  Json present = Json::object();
  for (const auto& backend : backends) {
    if (backend->score() > 0) present[std::string(backend->name())] = backend_facts(*backend);
  }
  json["backends"] = std::move(present);
  return json;
}

}  // namespace assay
