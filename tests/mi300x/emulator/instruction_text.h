// Helpers for reading a disassembled instruction: pieces, numbers, names.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "emulator/instruction.h"

namespace mi300x {

/// Throws Fault (unknown_instruction).
[[noreturn]] void unknown_text(std::string_view what, std::string_view text);

/// Splits at `separator` outside brackets; pieces are trimmed, empty ones are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Parses a decimal or hexadecimal number with sign. Throws Fault (unknown_instruction).
i64 parse_integer(std::string_view text);

/// Parses "[1,0,3]". Throws Fault (unknown_instruction).
std::vector<i64> parse_list(std::string_view text);

/// Returns whether `text` is "name(inside)"; if so, it is replaced by what is inside.
bool take_call(std::string_view& text, std::string_view name);

/// Returns the entry of that name in a short table; null if there is none.
template <typename Entry, std::size_t count>
const Entry* find_name(const Entry (&table)[count], std::string_view name) {
  for (const Entry& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace mi300x
