// A communicator of NCCL or RCCL as the library knows it, and the calls that make one, which block
// until all ranks have come.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "core/mutex.h"
#include "ranks/collective/nccl_library.h"

namespace assay::nccl {

/// Shared by its communicator and by a thread that is in a call on it, perhaps for ever: whoever
/// lets go of it last frees it.
class Endpoint {
 public:
  Endpoint(Library library, Comm comm) : library_(std::move(library)), comm_(comm) {}
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Library& library() const { return library_; }
  /// Null once it was aborted.
  Comm comm() const { return comm_; }
  /// Ends it and all its work; while a call of use() lasts, as soon as that returns.
  void abort();
  /// Its communicator is gone. A call of use() that lasts will not be waited for: it ends in
  /// abort(), since only a lost rank keeps it.
  void release();
  /// Calls `function` with the library's communicator, which nobody frees meanwhile.
  int use(const std::function<int(Comm)>& function);

 private:
  void abort_now();

  const Library library_;
  std::atomic<Comm> comm_;
  Mutex mutex_;
  int uses_ GUARDED_BY(mutex_) = 0;         // calls of use() in progress
  bool doomed_ GUARDED_BY(mutex_) = false;  // to be aborted when they return
};

/// Makes a communicator by `make`, a call that blocks until all ranks make it, for ever if one is
/// missing, and cannot be interrupted. It therefore runs in a thread of its own, which is abandoned
/// if the team fails: `make` must own all that it uses, and what it makes after that is aborted.
/// The library's non-blocking mode would queue every later operation through a thread and so change
/// what is measured. Error: failed, naming `call`; as Device::make_current() or Team::check_alive()
/// report.
Result<Comm> join(const Library& library, Device& device, Team& team, std::string_view call,
                  std::function<int(Comm*)> make);

}  // namespace assay::nccl
