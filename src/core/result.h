// Errors as values. Library code returns Result<T> and never prints, throws or exits; only the
// command line turns an Error into a message and an exit status.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace assay {

/// What went wrong, as finely as callers need to distinguish it. The command line maps each kind to
/// an exit status (src/cli/exit_code.h).
enum class ErrorKind {
  usage,         ///< the user's input is wrong: an option, an axis, a file
  unavailable,   ///< a library, device or permission is missing on this machine
  unsupported,   ///< the device or library exists but cannot do this
  exhausted,     ///< out of memory, disk or another finite resource
  verification,  ///< a result was computed and is wrong
  interrupted,   ///< the user or the system asked to stop
  silence,       ///< another rank did not answer; its own error, if it reported one, says why
  failed,        ///< a call that should have worked did not
};

/// One clear line: what failed, the value, what is allowed, what to do.
struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  /// The value; only after checking ok().
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  /// The error; only after checking !ok().
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT: implicit

  explicit operator bool() const { return !failed_; }
  bool ok() const { return !failed_; }
  void value() const {}
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  Error error_;
  bool failed_ = false;
};

using Status = Result<void>;

/// Evaluates to the value of `expression`, or returns its error from the enclosing function:
///   Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
#define TRY(expression)                                         \
  __extension__({                                               \
    auto try_result = (expression);                             \
    if (!try_result.ok()) return std::move(try_result).error(); \
    std::move(try_result).value();                              \
  })

}  // namespace assay
