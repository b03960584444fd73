// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace assay {

/// A file descriptor that is closed when its owner is destroyed.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  void close() { reset(-1); }
  /// Gives up ownership: whoever takes the number closes it.
  int release() { return std::exchange(number_, -1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

}  // namespace assay
