// The text by which ranks of one host refer to each other's memory: share() writes it,
// open_shared() reads it.
#pragma once

#include <cstdint>
#include <string>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

struct SharedName {
  int process = 0;             ///< the process that owns the memory
  std::uint64_t identity = 0;  ///< identifies that process: in different containers, process
                               ///< numbers may be equal
  int place = 0;               ///< the owner's device number; on the CPU backend its descriptor of
                               ///< the file that is the memory
  std::uint64_t address = 0;   ///< the memory's address in that process
  std::uint64_t bytes = 0;
  std::string handle;  ///< raw bytes by which the backend finds the memory, such as an IPC handle

  /// Names memory of this process.
  static SharedName own(const Buffer& buffer, int place, std::string handle);
  std::string text() const;
  /// Error: failed if `text` is not such a name.
  static Result<SharedName> parse(const std::string& text);
  /// Returns whether the calling process owns the memory; then its address is valid here.
  bool is_own() const;
  /// Returns a Buffer for this memory that does not free it.
  Buffer borrowed() const;
};

}  // namespace assay
