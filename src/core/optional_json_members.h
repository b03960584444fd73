// JSON members for facts that may be missing: a missing fact is left out, never written as 0 or
// empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json.h"

namespace assay {

inline void put_present(Json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}
inline void put_present(Json& json, const char* key, double value) {
  if (value != 0) json[key] = value;
}
inline void put_present(Json& json, const char* key, std::uint64_t value) {
  if (value != 0) json[key] = value;
}
template <typename T>
void put_present(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

}  // namespace assay
