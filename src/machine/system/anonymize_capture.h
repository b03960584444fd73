// Removes from a capture everything that identifies a piece of hardware, an installation or its
// owner.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

/// Replaces strings of 32 or more hexadecimal digits, with or without dashes (UUIDs, container ids,
/// GUIDs), by "hidden1", "hidden2", ... Equal strings get equal replacements, so equal values stay
/// equal.
class Masking {
 public:
  std::string text(std::string_view text);
  /// Masks a file's content. A file that holds only a serial number or a network address becomes
  /// "(hidden)", except the asset tag that all Azure machines share. In PCI configuration space the
  /// device serial number becomes zeros, in KFD's properties unique_id becomes 0 and hive_id a
  /// number; in other files it is text().
  std::string file(std::string_view path, std::string_view content);
  /// Masks strings at any depth, as text(); those of the keys "uuid" and "serial" become
  /// "(hidden)".
  void json(Json& json);

 private:
  std::string name_of(const std::string& serial);

  std::map<std::string, std::size_t, std::less<>> known_;
};

/// Returns whether Masking replaced a part of the text, which is then unknown: it holds "(hidden)",
/// or "hidden" before a digit.
bool holds_masked_part(std::string_view text);

}  // namespace assay
