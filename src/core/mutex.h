// A mutex whose rules the compiler checks. GUARDED_BY(mutex_) after a member names the mutex that
// must be held to access it. After a function, REQUIRES(mutex_) says that the caller must hold the
// mutex, EXCLUDES(mutex_) that the caller must not hold it, because the function locks it.
// clang reports violations (-Wthread-safety, an error in this project); other compilers ignore the
// annotations.
#pragma once

#include <mutex>

#if defined(__clang__)
#define ASSAY_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define ASSAY_THREAD_SAFETY(attribute)
#endif
#define GUARDED_BY(mutex) ASSAY_THREAD_SAFETY(guarded_by(mutex))
#define REQUIRES(mutex) ASSAY_THREAD_SAFETY(requires_capability(mutex))
#define EXCLUDES(mutex) ASSAY_THREAD_SAFETY(locks_excluded(mutex))

namespace assay {

class ASSAY_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  void lock() ASSAY_THREAD_SAFETY(acquire_capability()) { mutex_.lock(); }
  void unlock() ASSAY_THREAD_SAFETY(release_capability()) { mutex_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex during its lifetime, except between unlock() and lock().
class ASSAY_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ASSAY_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() ASSAY_THREAD_SAFETY(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() ASSAY_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void unlock() ASSAY_THREAD_SAFETY(release_capability()) { lock_.unlock(); }
  /// Returns the lock for std::condition_variable, whose waits return with the mutex held. A
  /// predicate that accesses guarded members must be annotated: wait(lock.native(), [&]()
  /// REQUIRES(mutex_) { ... }).
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace assay
