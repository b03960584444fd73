#include "ranks/collective/nccl_endpoint.h"

#include <chrono>
#include <condition_variable>
#include <thread>

namespace assay::nccl {
namespace {

/// State shared by the thread that joins and the one that waits for it.
struct Joining {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false, abandoned = false;
  Status current;  // result of making the device current
  int status = success;
  Comm comm = nullptr;
};

}  // namespace

Endpoint::~Endpoint() {
  if (comm_ != nullptr) library_.functions.destroy(comm_);
}

void Endpoint::abort() {
  {
    const std::lock_guard lock(mutex_);
    doomed_ = true;
    if (uses_ > 0) return;
  }
  abort_now();
}

void Endpoint::release() {
  const std::lock_guard lock(mutex_);
  if (uses_ > 0) doomed_ = true;
}

int Endpoint::use(const std::function<int(Comm)>& function) {
  {
    const std::lock_guard lock(mutex_);
    if (doomed_) return aborted;
    ++uses_;
  }
  const int status = function(comm_);
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
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
    const std::lock_guard lock(joining->mutex);
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
  std::unique_lock lock(joining->mutex);
  while (!joining->changed.wait_for(lock, std::chrono::milliseconds(100),
                                    [&] { return joining->done; })) {
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
