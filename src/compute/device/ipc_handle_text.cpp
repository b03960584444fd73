#include "compute/device/ipc_handle_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <random>
#include <sstream>
#include <utility>

namespace assay {
namespace {

/// Of no other process.
std::uint64_t own_identity() {
  static const std::uint64_t identity = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return identity;
}

}  // namespace

SharedName SharedName::own(const Buffer& buffer, int place, std::string handle) {
  return {.process = ::getpid(),
          .identity = own_identity(),
          .place = place,
          .address = reinterpret_cast<std::uintptr_t>(buffer.data()),
          .bytes = buffer.bytes(),
          .handle = std::move(handle)};
}

std::string SharedName::text() const {
  std::string hex;
  for (const char c : handle) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return fmt::format("{} {} {} {} {} {}", process, identity, place, address, bytes, hex);
}

Result<SharedName> SharedName::parse(const std::string& text) {
  const Error unknown = {ErrorKind::failed, "a rank named its memory in an unknown way"};
  SharedName name;
  std::istringstream words(text);
  std::string hex;
  if (!(words >> name.process >> name.identity >> name.place >> name.address >> name.bytes)) {
    return unknown;
  }
  words >> hex;
  if (hex.size() % 2 != 0) return unknown;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    const char* const end = hex.data() + i + 2;
    if (std::from_chars(hex.data() + i, end, value, 16).ptr != end) return unknown;
    name.handle += static_cast<char>(value);
  }
  return name;
}

bool SharedName::is_own() const {
  return process == ::getpid() && identity == own_identity();
}

Buffer SharedName::borrowed() const {
  return {reinterpret_cast<void*>(address), bytes, nullptr, [](void*, void*, std::size_t) {}};
}

}  // namespace assay
