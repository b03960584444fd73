// Ownership of a file descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace assay {

/// A file descriptor that is closed when its owner is destroyed.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Descriptor() { close(); }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close() { reset(-1); }
  /// Gives up ownership: the caller must close the returned descriptor.
  int release() { return std::exchange(number_, -1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

/// Returns another descriptor of the same open file, which programs that this process starts do not
/// inherit. The caller must close it. Returns -1 with errno if it fails, for example because the
/// process may open no more.
inline int duplicate(int descriptor) {
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

}  // namespace assay
