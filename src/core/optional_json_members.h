// Writes JSON members for facts that may be missing. A number that is 0, an empty text and an empty
// optional count as missing, and their members are left out. An optional that holds 0 is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json.h"

namespace assay {

/// Sets the member `key` of `json` unless `value` is missing.
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
