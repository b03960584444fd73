// How ranks of a host name memory to each other: what share() gives and open_shared() takes.
#pragma once

#include <cstdint>
#include <string>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

struct SharedName {
  int process = 0;             ///< that owns the memory
  std::uint64_t identity = 0;  ///< of that process: in several containers, some have equal numbers
  int place = 0;               ///< the owner's device, or its file descriptor of the memory
  std::uint64_t address = 0;   ///< of the memory in that process
  std::uint64_t bytes = 0;
  std::string handle;  ///< what else the backend needs to find it, as it is in memory

  /// Of memory of this process.
  static SharedName own(const Buffer& buffer, int place, std::string handle);
  std::string text() const;
  /// Error: failed if `text` is none.
  static Result<SharedName> parse(const std::string& text);
  /// Whether the calling process owns it: then its address is valid here.
  bool is_own() const;
  /// The same memory, which the owner goes on owning.
  Buffer borrowed() const;
};

}  // namespace assay
