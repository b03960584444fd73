#include "advise/doctor/pci.h"

#include "advise/doctor/advice.h"

namespace assay {
namespace {

// Layout of the configuration space, as in linux/pci_regs.h.
constexpr std::size_t header_bytes = 64;  // all that can be read without privileges
constexpr std::size_t extended_start = 0x100;
constexpr std::uint32_t acs_capability = 0x000d;
constexpr std::size_t acs_control_offset = 6;

std::uint32_t word_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string why_not(const Machine& machine, std::string_view address, const std::string& file) {
  const std::filesystem::path path = pci_folder(address) / file;
  std::string why = read_setting(machine, path).why_not;
  const std::size_t folder = path.string().size() + 1 - file.size();
  if (why.starts_with("/" + path.string())) why.erase(0, folder);
  return why;
}

AcsControl acs_control(std::string_view configuration) {
  if (configuration.size() < header_bytes) return {AcsState::unreadable, 0};
  if (configuration.size() == header_bytes) return {AcsState::needs_root, 0};
  // A configuration of 256 bytes is that of conventional PCI, which has no extended capabilities.
  std::size_t at = extended_start;
  // Each capability takes at least 8 bytes, so a longer walk is a cycle.
  for (std::size_t step = 0; step < configuration.size() / 8; ++step) {
    if (at < extended_start || at + 8 > configuration.size()) break;
    const std::uint32_t header = word_at(configuration, at, 4);
    if ((header & 0xffff) == acs_capability) {
      return {AcsState::known,
              static_cast<std::uint16_t>(word_at(configuration, at + acs_control_offset, 2))};
    }
    at = header >> 20;
  }
  return {AcsState::absent, 0};
}

}  // namespace assay
