// Keeps out of a capture what identifies one piece of hardware, one installation or its owner.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

/// Replaces numbers of 32 hexadecimal digits and more (UUIDs, container ids, GUIDs) by "hidden1",
/// "hidden2": the same one by the same text wherever it stands, so that what was equal stays equal.
class Masking {
 public:
  std::string text(std::string_view text);
  /// A file's content: of files that hold nothing but a serial number or an address the whole, of
  /// PCI configuration space the device serial number, of others what text() hides.
  std::string file(std::string_view path, std::string_view content);
  /// Values at any depth; those of the keys "uuid" and "serial" whole.
  void json(Json& json);

 private:
  std::string name_of(const std::string& serial);

  std::map<std::string, std::size_t, std::less<>> known_;
};

}  // namespace assay
