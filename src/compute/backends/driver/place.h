// The device that a driver call is meant for: its dialect and its ordinal. A Place also makes that
// device current on the calling thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "compute/backends/driver/dialect.h"

namespace assay::driver {

class Place {
 public:
  Place(std::shared_ptr<Dialect> dialect, int ordinal);

  Dialect& dialect() const { return *dialect_; }
  const std::shared_ptr<Dialect>& shared_dialect() const { return dialect_; }
  const DriverApi& api() const { return dialect_->api(); }
  int ordinal() const { return ordinal_; }
  const Abilities& abilities() const { return abilities_; }

  /// Makes the device current on this thread unless this Place was the last to do so. Usually costs
  /// only a thread-local comparison, so every driver call can begin with it.
  Code activate() const { return current_ == identity_ ? code::success : make_current(); }
  /// Makes the device current without that shortcut, because another library may have changed it.
  Code make_current() const;

  /// Returns an Error naming the device: "cuda:0: allocating 3 bytes: CUDA_ERROR_...". It is
  /// exhausted if memory ran out; unavailable for no or an invalid device; unsupported if the
  /// driver says not_supported or has no code for the device; otherwise failed.
  Error error(Code code, std::string_view doing) const;

 private:
  static thread_local std::uint64_t current_;  // identity_ of the place last made current

  std::shared_ptr<Dialect> dialect_;
  int ordinal_;
  Abilities abilities_;
  std::uint64_t identity_;  // never reused, unlike addresses and ordinals
};

}  // namespace assay::driver

/// Returns an Error from the enclosing function unless the device becomes current and `call` gives
/// success; `doing` is evaluated only on failure.
#define PLACE_TRY(place, call, doing)                                                            \
  do {                                                                                           \
    ::assay::driver::Code place_code = (place).activate();                                       \
    if (place_code == ::assay::driver::code::success) place_code = (call);                       \
    if (place_code != ::assay::driver::code::success) return (place).error(place_code, (doing)); \
  } while (false)
