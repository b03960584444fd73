#include "libraries/nccl_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <ctime>
#include <set>

namespace mi300x {
namespace {

/// Names that this process created; names that no rank used are removed at its end.
struct Names {
  std::set<std::string> all;
  ~Names() {
    for (const std::string& name : all) ::shm_unlink(name.c_str());
  }
};
Names& names() {
  static Names of_process;
  return of_process;
}

/// Waits until `word` differs from `value`, for at most 20 ms.
void wait_a_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  const timespec limit{0, 20'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, NcclWorld::most_ranks, nullptr, nullptr, 0);
}

/// A lock on one byte of the file marks a rank as alive. The kernel releases it when the process
/// ends, for whatever reason.
struct flock lock_of(int rank) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

}  // namespace

struct NcclWorld::Shared {
  struct Rank {
    std::atomic<bool> joined, left;
    std::atomic<int> process;
  };
  std::atomic<std::uint32_t> came, round, aborted;
  std::atomic<int> ranks, joined;
  char reason[256];
  std::atomic<bool> reason_taken;
  Rank rank[most_ranks];
  alignas(4096) std::byte windows[];
};

bool NcclWorld::create(const std::string& name) {
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool grown = ::ftruncate(file, sizeof(Shared)) == 0;
  ::close(file);
  names().all.insert(name);
  return grown;
}

std::unique_ptr<NcclWorld> NcclWorld::join(const std::string& name, int ranks, int rank,
                                           std::string& problem) {
  if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks) {
    problem = fmt::format("rank {} of {} cannot be", rank, ranks);
    return nullptr;
  }
  const std::size_t bytes = sizeof(Shared) + static_cast<std::size_t>(ranks) * window_bytes;
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) {
    problem = fmt::format("no communicator is known as {}", name);
    return nullptr;
  }
  void* memory = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (memory == MAP_FAILED) {
    problem = fmt::format("{} bytes of shared memory: {}", bytes, std::strerror(errno));
    ::close(file);
    return nullptr;
  }
  auto* shared = static_cast<Shared*>(memory);
  std::unique_ptr<NcclWorld> world(new NcclWorld(shared, file, ranks, rank));
  struct flock lock = lock_of(rank);
  int expected = 0;
  const bool first = shared->ranks.compare_exchange_strong(expected, ranks);
  if (!first && expected != ranks) {
    problem = fmt::format("rank {} joins {} ranks, another one {}", rank, ranks, expected);
    world->abort(problem);
    return nullptr;
  }
  if (::fcntl(file, F_OFD_SETLK, &lock) != 0) {
    problem = fmt::format("rank {} joins twice", rank);
    world->abort(problem);
    return nullptr;
  }
  shared->rank[rank].process = ::getpid();
  shared->rank[rank].joined = true;
  if (++shared->joined == ranks) ::shm_unlink(name.c_str());
  if (world->meet()) return world;
  problem = world->problem();
  return nullptr;
}

NcclWorld::~NcclWorld() {
  shared_->rank[rank_].left = true;
  wake_all(shared_->round);
  ::munmap(shared_, sizeof(Shared) + static_cast<std::size_t>(ranks_) * window_bytes);
  ::close(file_);
}

std::span<std::byte> NcclWorld::window_of(int rank) const {
  return {shared_->windows + static_cast<std::size_t>(rank) * window_bytes, window_bytes};
}

bool NcclWorld::meet() {
  const std::uint32_t now = shared_->round;
  if (shared_->aborted != 0) return false;
  if (++shared_->came == static_cast<std::uint32_t>(ranks_)) {
    shared_->came = 0;
    ++shared_->round;
    wake_all(shared_->round);
    return true;
  }
  while (shared_->round == now && shared_->aborted == 0) {
    wait_a_while(shared_->round, now);
    if (shared_->round == now) look_for_the_dead();
  }
  return shared_->round != now;
}

void NcclWorld::look_for_the_dead() {
  for (int other = 0; other < ranks_; ++other) {
    const Shared::Rank& its = shared_->rank[other];
    if (other == rank_ || !its.joined) continue;
    struct flock lock = lock_of(other);
    const bool lives = ::fcntl(file_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (its.left) abort(fmt::format("rank {} left the communicator", other));
    if (!its.left && !lives) {
      abort(fmt::format("rank {} (process {}) is gone", other, its.process.load()));
    }
  }
}

void NcclWorld::abort(const std::string& reason) {
  if (!shared_->reason_taken.exchange(true)) {
    std::strncpy(shared_->reason, reason.c_str(), sizeof shared_->reason - 1);
    shared_->aborted = 1;
  }
  wake_all(shared_->round);
}

bool NcclWorld::aborted() const {
  return shared_->aborted != 0;
}

std::string NcclWorld::problem() const {
  return aborted() ? std::string(shared_->reason) : std::string();
}

}  // namespace mi300x
