// Errors as values. Library code returns Result<T> and never prints, throws or exits; only the
// command line turns an Error into a message and an exit status.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace assay {

/// What went wrong, as finely as callers need to distinguish it. The command line maps each kind to
/// an exit status (src/cli/exit_code.h).
enum class ErrorKind {
  usage,         ///< the user's input is wrong: an option, an axis, a missing or damaged file
  unavailable,   ///< a library, device or permission is missing on this machine
  unsupported,   ///< the device or library exists but cannot do this
  exhausted,     ///< out of memory, disk or another finite resource
  file,          ///< a file may not be read or written, or its file system fails
  verification,  ///< a result was computed and is wrong
  interrupted,   ///< the user or the system asked to stop
  silence,       ///< another rank did not answer; its own error, if it reported one, says why
  failed,        ///< a call that should have worked did not
};

struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string message;  ///< one line: what failed, the value, what is allowed, what to do
};

/// A value or an Error. It is a union of the two instead of a std::variant, which would take longer
/// to compile for each of the hundreds of types that it is used with.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)), ok_(true) {}       // NOLINT: implicit
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit
  Result(const Result& other) : ok_(other.ok_) { construct(other); }
  Result(Result&& other) noexcept : ok_(other.ok_) { construct(std::move(other)); }
  Result& operator=(Result other) noexcept {
    destroy();
    ok_ = other.ok_;
    construct(std::move(other));
    return *this;
  }
  ~Result() { destroy(); }

  explicit operator bool() const { return ok_; }
  bool ok() const { return ok_; }

  /// Returns the value; call it only after checking ok().
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

  /// Returns the error; call it only after checking !ok().
  Error& error() & { return error_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }

 private:
  template <typename Other>
  void construct(Other&& other) {
    if (ok_) {
      std::construct_at(&value_, std::forward<Other>(other).value());
    } else {
      std::construct_at(&error_, std::forward<Other>(other).error());
    }
  }
  void destroy() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  union {
    T value_;
    Error error_;
  };
  bool ok_;
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

using Status = Result<void>;  ///< success without a value, or an Error

/// Evaluates to the value of `expression`, or returns its error from the enclosing function:
///   Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
#define TRY(expression)                                         \
  __extension__({                                               \
    auto try_result = (expression);                             \
    if (!try_result.ok()) return std::move(try_result).error(); \
    std::move(try_result).value();                              \
  })

}  // namespace assay
