// Represents in JSON text what it cannot express directly: the state of a file, and bytes that are
// not text.
#pragma once

#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

constexpr std::string_view capture_format = "assay-capture";
constexpr int capture_version = 1;

std::string_view name_of(FileState state);
/// Returns not_captured if `text` is not the name of a state.
FileState file_state_from(std::string_view text);

/// Returns whether `bytes` consist of printable ASCII, tabs and line ends; these are captured
/// unchanged.
bool is_plain_text(std::string_view bytes);

std::string to_hex(std::string_view bytes);
/// Stops at the first pair that is not two lower-case hexadecimal digits.
std::string from_hex(std::string_view text);

}  // namespace assay
