#include "machine/system/fingerprint.h"

#include <algorithm>
#include <utility>

#include "core/json.h"

namespace assay {

Json take_fingerprint(Json backends, const Machine& machine) {
  std::vector<FactSource> sources = FactRegistry::entries();
  std::sort(sources.begin(), sources.end(),
            [](const FactSource& a, const FactSource& b) { return a.section < b.section; });
  Json json;
  for (const FactSource& source : sources) {
    Json facts = source.read(machine);
    if (!facts.is_null()) json[std::string(source.section)] = std::move(facts);
  }
  json["backends"] = backends.is_null() ? Json::object() : std::move(backends);
  return json;
}

}  // namespace assay
