#include "compute/device/shared_name.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <sstream>

namespace assay {

std::string SharedName::text() const {
  std::string hex;
  for (const char c : handle) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return fmt::format("{} {} {} {} {}", process, place, address, bytes, hex);
}

Result<SharedName> SharedName::parse(const std::string& text) {
  SharedName name;
  std::istringstream words(text);
  std::string hex;
  if (!(words >> name.process >> name.place >> name.address >> name.bytes)) {
    return Error{ErrorKind::failed, "a rank named its memory in an unknown way"};
  }
  words >> hex;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    name.handle += static_cast<char>(value);
  }
  return name;
}

bool SharedName::is_own() const {
  return process == ::getpid();
}

Buffer SharedName::borrowed() const {
  return {reinterpret_cast<void*>(address), bytes, nullptr, [](void*, void*, std::size_t) {}};
}

}  // namespace assay
