// A source of fingerprint facts: one file in facts/ that reads one part of the system. It registers
// itself with
//   const FactRegistry::Add registered{{"cpu", &read_cpu}};
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/registry.h"
#include "machine/system/machine.h"

namespace assay {

/// Reads facts that explain differences between two environments and stay the same from run to run:
/// no loads, no free memory, no process ids, no secrets. Never fails; facts that need privileges
/// are left out.
struct FactSource {
  std::string_view section;  ///< its name in the fingerprint, "cpu"
  /// If it returns null, the fingerprint gets no such section.
  Json (*read)(const Machine& machine);
};
using FactRegistry = Registry<FactSource>;

/// Returns the file's text without surrounding white space; nullopt if the file is unreadable or
/// empty.
std::optional<std::string> read_fact(const Machine& machine, const std::filesystem::path& path);
/// Reads a file that holds a whole number, decimal or with "0x"; nullopt if it holds anything else
/// or is unreadable.
std::optional<long long> read_number(const Machine& machine, const std::filesystem::path& path);
/// Returns the value of "key : value" or "key=value" lines, unquoted; the first one if there are
/// several.
std::optional<std::string> line_value(std::string_view text, std::string_view key);

template <typename T>
void put_fact(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

}  // namespace assay
