#include "ranks/collective/nccl_endpoint.h"

#include <chrono>
#include <condition_variable>
#include <thread>

#include "core/mutex.h"

namespace assay::nccl {
namespace {

/// What the thread that joins and the one that waits for it share.
struct Joining {
  Mutex mutex;
  std::condition_variable changed;
  bool done GUARDED_BY(mutex) = false;
  bool abandoned GUARDED_BY(mutex) = false;
  Status current GUARDED_BY(mutex);  // of making the device current
  int status GUARDED_BY(mutex) = success;
  Comm comm GUARDED_BY(mutex) = nullptr;
};

}  // namespace

Endpoint::~Endpoint() {
  if (comm_ != nullptr) library_.functions.destroy(comm_);
}

void Endpoint::abort() {
  {
    const MutexLock lock(mutex_);
    doomed_ = true;
    if (uses_ > 0) return;
  }
  abort_now();
}

void Endpoint::release() {
  const MutexLock lock(mutex_);
  if (uses_ > 0) doomed_ = true;
}

int Endpoint::use(const std::function<int(Comm)>& function) {
  {
    const MutexLock lock(mutex_);
    if (doomed_) return aborted;
    ++uses_;
  }
  const int status = function(comm_);
  bool last = false;
  {
    const MutexLock lock(mutex_);
    last = --uses_ == 0 && doomed_;
  }
  if (last) abort_now();
  return status;
}

void Endpoint::abort_now() {
  if (const Comm comm = comm_.exchange(nullptr)) library_.functions.abort(comm);
}

Result<Comm> join(const Library& library, Device& device, Team& team, std::string_view call,
                  std::function<int(Comm*)> make) {
  const auto joining = std::make_shared<Joining>();
  std::thread([joining, make = std::move(make), abort = library.functions.abort,
               make_current = device.current_maker()] {
    Comm comm = nullptr;
    Status current = make_current();
    const int status = current ? make(&comm) : success;
    const MutexLock lock(joining->mutex);
    if (joining->abandoned) {
      if (comm != nullptr) abort(comm);
      return;
    }
    joining->current = std::move(current);
    joining->status = status;
    joining->comm = comm;
    joining->done = true;
    joining->changed.notify_all();
  }).detach();
  MutexLock lock(joining->mutex);
  while (!joining->changed.wait_for(lock.native(), std::chrono::milliseconds(100),
                                    [&]() REQUIRES(joining->mutex) { return joining->done; })) {
    if (Status whole = team.check_alive(); !whole) {
      joining->abandoned = true;
      return std::move(whole).error();
    }
  }
  TRY(std::move(joining->current));
  TRY(library.check(joining->status, call, nullptr));
  return joining->comm;
}

}  // namespace assay::nccl
