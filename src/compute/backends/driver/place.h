// The device for driver calls: its dialect and its ordinal. It also makes the device current on the
// calling thread.
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

  /// Makes the device current on this thread unless it was the last one made current here. Usually
  /// costs only a thread-local comparison, so every call can begin with it.
  Code activate() const { return current_ == identity_ ? code::success : make_current(); }
  /// Makes the device current without that shortcut, because another library may have changed it.
  Code make_current() const;

  /// An Error naming the device: "cuda:0: allocating 3 bytes: CUDA_ERROR_...".
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
