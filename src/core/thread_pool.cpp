#include "core/thread_pool.h"

#include <pthread.h>
#include <sched.h>

namespace assay {
namespace {

// How many times a waiting thread polls before it sleeps in the kernel. 4,000 times take 20 to 150
// us, depending on the processor: longer than the gap between two queued kernels and shorter than
// anything another process would notice. Builds for tests set fewer, because their launches have
// longer gaps.
#if !defined(ASSAY_SPINS_BEFORE_SLEEP)
#define ASSAY_SPINS_BEFORE_SLEEP 4000
#endif
constexpr int spins_before_sleep = ASSAY_SPINS_BEFORE_SLEEP;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void pin_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  // A cpuset that shrank since start-up makes this fail, but an unpinned worker is still correct.
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/// Returns once `value` differs from `old`.
void await_change(const std::atomic<unsigned>& value, unsigned old) {
  for (int spin = 0; spin < spins_before_sleep; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::~ThreadPool() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::pin_caller() const {
  pin_to({cpus_.front()});
}

void ThreadPool::unpin_caller() const {
  pin_to(cpus_);
}

void ThreadPool::start() {
  for (std::size_t worker = 1; worker < cpus_.size(); ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

void ThreadPool::run_erased(Erased body, const void* context) {
  const MutexLock lock(turn_);
  if (threads_.empty()) start();
  body_ = body;
  context_ = context;
  unfinished_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  body(context, 0);
  for (unsigned left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    await_change(unfinished_, left);
  }
}

void ThreadPool::work(std::size_t worker) {
  pin_to({cpus_[worker]});
  for (unsigned seen = 0;;) {
    await_change(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stopping_) return;
    body_(context_, worker);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

}  // namespace assay
