#include "ranks/fabric/tcp_inbox.h"

#include <algorithm>
#include <utility>

namespace assay::tcp {

void Inbox::complete(const FabricCompletion& completion) {
  const MutexLock lock(mutex_);
  completions_.push_back(completion);
  news_.notify_one();
}

void Inbox::landed(int queue) {
  const MutexLock lock(mutex_);
  ++landed_[static_cast<std::size_t>(queue)];
  news_.notify_one();
}

void Inbox::fail(Error error) {
  const MutexLock lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  news_.notify_one();
}

Result<std::size_t> Inbox::take(std::span<FabricCompletion> completions,
                                std::chrono::milliseconds most) {
  MutexLock lock(mutex_);
  news_.wait_for(lock.native(), most,
                 [&]() REQUIRES(mutex_) { return !completions_.empty() || failure_; });
  if (completions_.empty() && failure_) return *failure_;
  const std::size_t count = std::min(completions.size(), completions_.size());
  const auto end = completions_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(completions_.begin(), end, completions.begin());
  completions_.erase(completions_.begin(), end);
  return count;
}

Result<bool> Inbox::await_landing(int queue, std::chrono::milliseconds most) {
  MutexLock lock(mutex_);
  std::uint64_t& landed = landed_[static_cast<std::size_t>(queue)];
  news_.wait_for(lock.native(), most, [&]() REQUIRES(mutex_) { return landed > 0 || failure_; });
  if (landed == 0 && failure_) return *failure_;
  if (landed == 0) return false;
  --landed;
  return true;
}

}  // namespace assay::tcp
