// The library's own communicator object of NCCL or RCCL, and the calls that create one, which block
// until all ranks have made them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "core/mutex.h"
#include "ranks/collective/nccl_library.h"

namespace assay::nccl {

/// Shared by its communicator and by a thread that may hang in a call on it for ever. The last of
/// the two to release it frees it.
class Endpoint {
 public:
  Endpoint(Library library, Comm comm) : library_(std::move(library)), comm_(comm) {}
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Library& library() const { return library_; }
  /// Returns null after an abort.
  Comm comm() const { return comm_; }
  /// Aborts the communicator and all its work, or marks it so that the last running use() aborts
  /// it.
  void abort();
  /// Call this when the owning communicator is destroyed. If a call of use() is still running, it
  /// hangs because of a lost rank; it is not waited for and will abort the endpoint.
  void release();
  /// Calls `function` with the library's communicator, which is not freed during the call, and
  /// returns its status; after an abort it only returns nccl::aborted. Any thread may call it.
  int use(const std::function<int(Comm)>& function);

 private:
  void abort_now();

  const Library library_;
  std::atomic<Comm> comm_;
  Mutex mutex_;
  int uses_ GUARDED_BY(mutex_) = 0;         // calls of use() in progress
  bool doomed_ GUARDED_BY(mutex_) = false;  // abort when the running calls return
};

/// Creates a communicator with `make`, a call that blocks until all ranks make it. If a rank is
/// missing it blocks for ever and cannot be interrupted. Therefore it runs in a separate thread,
/// which is abandoned if the team fails. `make` must own everything that it uses, and a
/// communicator that it creates after that is aborted. The library's non-blocking mode is not used:
/// it would queue every later operation through a thread and so change what is measured. Error:
/// failed, naming `call`; as Device::make_current() or Team::check_alive().
Result<Comm> join(const Library& library, Device& device, Team& team, std::string_view call,
                  std::function<int(Comm*)> make);

}  // namespace assay::nccl
