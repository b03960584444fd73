#include "machine/system/capture_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array<std::pair<FileState, std::string_view>, 5> state_names = {
    {{FileState::missing, "missing"},
     {FileState::denied, "denied"},
     {FileState::failed, "failed"},
     {FileState::not_captured, "not captured"},
     {FileState::found, "found"}}};

}  // namespace

std::string_view name_of(FileState state) {
  for (const auto& [known, name] : state_names) {
    if (known == state) return name;
  }
  return "missing";
}

FileState file_state_from(std::string_view text) {
  for (const auto& [state, name] : state_names) {
    if (name == text) return state;
  }
  return FileState::not_captured;
}

bool is_plain_text(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) {
    return (byte >= ' ' && byte <= '~') || byte == '\n' || byte == '\t';
  });
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  const auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return -1;
  };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) break;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace assay
