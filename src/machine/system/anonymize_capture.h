// Removes from a capture what identifies one piece of hardware, one installation or its owner.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

/// Replaces strings of 32 or more hexadecimal digits (UUIDs, container ids, GUIDs) by "hidden1",
/// "hidden2", ... Equal strings get equal replacements, so equal values stay equal.
class Masking {
 public:
  std::string text(std::string_view text);
  /// A file's content, masked: all of it if the file holds only a serial number or an address, the
  /// device serial number in PCI configuration space, in other files what text() hides.
  std::string file(std::string_view path, std::string_view content);
  /// Strings at any depth; those under the keys "uuid" and "serial" are replaced entirely.
  void json(Json& json);

 private:
  std::string name_of(const std::string& serial);

  std::map<std::string, std::size_t, std::less<>> known_;
};

}  // namespace assay
