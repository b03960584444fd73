// Starting another program as a child of this one, without a shell.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A file descriptor closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  void close() { reset(-1); }
  /// Leaves it open to whoever takes the number.
  int release() { return std::exchange(number_, -1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

/// The number under which a child finds what `ChildFiles::conversation` names. Descriptors given to
/// a child must lie above it, so that giving it one overwrites no other.
constexpr int child_conversation = 3;

/// This process's descriptors that the child gets; its standard input is empty.
struct ChildFiles {
  int output = -1;        ///< becomes standard output
  int messages = -1;      ///< becomes standard error
  int conversation = -1;  ///< becomes child_conversation
};

/// Starts the program at `path`, words[0] being the name it is told. It gets default signals and a
/// process group of its own: Ctrl-C ends the measuring in order, not the child under it. Returns
/// its process id, or the negated error number.
pid_t start_child(const std::string& path, std::vector<std::string> words, const ChildFiles& files);

}  // namespace assay
