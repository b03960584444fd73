#include "compute/backends/driver/place.h"

#include <fmt/format.h>

#include <atomic>

namespace assay::driver {
namespace {

std::uint64_t next_identity() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

ErrorKind kind_of(Code code) {
  switch (code) {
    case code::out_of_memory:
      return ErrorKind::exhausted;
    case code::no_device:
    case code::invalid_device:
      return ErrorKind::unavailable;
    case code::no_binary_for_device:
    case code::not_supported:
      return ErrorKind::unsupported;
    default:
      return ErrorKind::failed;
  }
}

}  // namespace

thread_local std::uint64_t Place::current_ = 0;

Place::Place(std::shared_ptr<Dialect> dialect, int ordinal)
    : dialect_(std::move(dialect)),
      ordinal_(ordinal),
      abilities_(dialect_->abilities(ordinal)),
      identity_(next_identity()) {}

Code Place::make_current() const {
  const Code result = dialect_->make_current(ordinal_);
  current_ = result == code::success ? identity_ : 0;
  return result;
}

Error Place::error(Code code, std::string_view doing) const {
  return Error{kind_of(code), fmt::format("{}:{}: {}: {}", dialect_->backend(), ordinal_, doing,
                                          dialect_->describe(code))};
}

}  // namespace assay::driver
