// An optional value on the heap.
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace assay {

/// Holds a value or none, and offers a part of the interface of std::optional. An absent value
/// costs only a pointer, which suits large members that most of many objects lack. Copies are deep,
/// a moved-from object is empty, and emplace() initializes with braces.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::nullopt_t) {}                                           // NOLINT: implicit
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: implicit
  Boxed(std::optional<T> value) {                                    // NOLINT: implicit
    if (value) value_ = std::make_unique<T>(std::move(*value));
  }
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  bool has_value() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T value_or(T instead) const { return value_ ? *value_ : std::move(instead); }
  template <typename... Arguments>
  T& emplace(Arguments&&... arguments) {
    value_ = std::make_unique<T>(T{std::forward<Arguments>(arguments)...});
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace assay
