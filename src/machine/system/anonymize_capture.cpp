#include "machine/system/anonymize_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "core/json.h"

namespace assay {
namespace {

constexpr std::string_view hidden = "(hidden)";

/// Returns whether a file's whole text identifies a piece of hardware or an installation.
bool is_serial_file(std::string_view path) {
  constexpr std::array<std::string_view, 10> names = {
      "unique_id",    "serial_number", "product_serial", "board_serial",      "chassis_serial",
      "product_uuid", "node_guid",     "sys_image_guid", "chassis_asset_tag", "address"};
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::find(names.begin(), names.end(), name) != names.end() ||
         path.find("/gids/") != std::string_view::npos;
}

/// Returns PCI Express configuration space with the payload of its device serial number (extended
/// capability 0x0003, PCI_EXT_CAP_ID_DSN in linux/pci_regs.h) zeroed.
std::string without_device_serial(std::string config) {
  constexpr std::size_t first = 0x100, payload = 4, length = 8;
  constexpr unsigned serial_number = 0x0003;
  const auto word = [&](std::size_t at) {
    unsigned value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value |= static_cast<unsigned>(static_cast<unsigned char>(config[at + i])) << (8 * i);
    }
    return value;
  };
  // The list may contain a cycle; it cannot have more entries than this.
  std::size_t at = first;
  for (int steps = 0; steps < 960 && at >= first && at + 4 <= config.size(); ++steps) {
    const unsigned header = word(at);
    if ((header & 0xffff) == serial_number) {
      for (std::size_t i = 0; i < length && at + payload + i < config.size(); ++i) {
        config[at + payload + i] = '\0';
      }
    }
    at = (header >> 20) & 0xffc;
  }
  return config;
}

bool is_hex(char letter) {
  return std::isxdigit(static_cast<unsigned char>(letter)) != 0;
}

}  // namespace

std::string Masking::name_of(const std::string& serial) {
  const auto [known, fresh] = known_.try_emplace(serial, known_.size() + 1);
  return fmt::format("hidden{}", known->second);
}

std::string Masking::text(std::string_view text) {
  constexpr std::ptrdiff_t least_digits = 32;
  std::string kept;
  while (!text.empty()) {
    const auto end = !is_hex(text.front())
                         ? text.begin()
                         : std::find_if(text.begin(), text.end(), [](char letter) {
                             return !is_hex(letter) && letter != '-';
                           });
    const std::string run(text.begin(), end);
    text.remove_prefix(run.size());
    const bool serial = std::count_if(run.begin(), run.end(), is_hex) >= least_digits;
    kept += serial ? name_of(run) : run;
    if (text.empty()) break;
    kept += text.front();
    text.remove_prefix(1);
  }
  return kept;
}

std::string Masking::file(std::string_view path, std::string_view content) {
  if (is_serial_file(path)) {
    // This asset tag is the same on every Azure machine: it identifies the cloud, not the machine.
    constexpr std::string_view azure = "7783-7084-3265-9085-8269-3286-77";
    return content.starts_with(azure) ? std::string(content) : std::string(hidden);
  }
  if (path.ends_with("/config")) return without_device_serial(std::string(content));
  if (!path.ends_with("/properties")) return text(content);
  // KFD's "key value" lines have decimal numbers, which text() would not find.
  std::istringstream lines{std::string(content)};
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    if (key == "unique_id") line = "unique_id 0";
    if (key == "hive_id" && line != "hive_id 0") {
      const std::string name = name_of("hive " + line.substr(space + 1));
      line = "hive_id " + name.substr(std::string_view("hidden").size());
    }
    kept += line;
    if (!lines.eof()) kept += '\n';
  }
  return kept;
}

void Masking::json(Json& json) {
  if (json.is_string()) {
    json = text(json.get<std::string>());
  } else if (json.is_object()) {
    for (auto& [key, value] : json.items()) {
      if (value.is_string() && (key == "uuid" || key == "serial")) {
        value = hidden;
      } else {
        this->json(value);
      }
    }
  } else if (json.is_array()) {
    for (Json& value : json) this->json(value);
  }
}

bool holds_masked_part(std::string_view text) {
  if (text.find(hidden) != std::string_view::npos) return true;
  constexpr std::string_view numbered = "hidden";
  for (std::size_t at = text.find(numbered); at != std::string_view::npos;
       at = text.find(numbered, at + 1)) {
    const std::size_t next = at + numbered.size();
    if (next < text.size() && text[next] >= '0' && text[next] <= '9') return true;
  }
  return false;
}

}  // namespace assay
