// How ranks of a host name memory to each other: what share() gives and open_shared() takes.
#pragma once

#include <cstdint>
#include <string>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

struct SharedName {
  int process = 0;            ///< that owns the memory
  int place = 0;              ///< the owner's device, or its file descriptor of the memory
  std::uint64_t address = 0;  ///< of the memory in that process
  std::uint64_t bytes = 0;
  std::string handle;  ///< the driver's, as it is in memory; empty without a driver

  std::string text() const;
  /// Error: failed if `text` is none.
  static Result<SharedName> parse(const std::string& text);
  /// Whether the calling process owns it: then its address is valid here.
  bool is_own() const;
  /// The same memory, which the owner goes on owning.
  Buffer borrowed() const;
};

}  // namespace assay
