// A source of fingerprint facts: one file in this folder that reads one place of the system. It
// adds itself with
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

/// Reads what explains differences between two environments and stays the same from run to run: no
/// loads, no free memory, no process ids, no secrets. Never fails: what cannot be read without
/// privileges is left out.
struct FactSource {
  std::string_view section;
  Json (*read)(const Machine& machine);
};
using FactRegistry = Registry<FactSource>;

/// The file's text without surrounding white space; empty optional if it cannot be read or is
/// empty.
std::optional<std::string> read_fact(const Machine& machine, const std::filesystem::path& path);
/// The same as a whole number, decimal or with "0x".
std::optional<long long> read_number(const Machine& machine, const std::filesystem::path& path);
/// The value of "key : value" or "key=value" lines, unquoted; the first one if there are several.
std::optional<std::string> line_value(std::string_view text, std::string_view key);

template <typename T>
void put_fact(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}

}  // namespace assay
