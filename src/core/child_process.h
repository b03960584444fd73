// Starting another program as a child of this one, without a shell.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

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

/// The descriptor number under which the child finds `ChildFiles::conversation`. Descriptors passed
/// to a child must have higher numbers, so that dup2() overwrites none of them.
constexpr int child_conversation = 3;

/// The descriptors of this process that the child inherits. Its standard input is empty.
struct ChildFiles {
  int output = -1;        ///< becomes standard output
  int messages = -1;      ///< becomes standard error
  int conversation = -1;  ///< becomes child_conversation
};

/// Starts the program at `path` with `words` as its argv. It gets default signal handling and a
/// process group of its own, so that Ctrl-C lets the measurement shut down in order and does not
/// kill the child. Returns the process id, or the negated errno.
pid_t start_child(const std::string& path, std::vector<std::string> words, const ChildFiles& files);

}  // namespace assay
