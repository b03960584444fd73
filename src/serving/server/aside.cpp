#include "serving/server/aside.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace assay::server {

Aside::Aside(asio::io_context& context)
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), done_there_(context) {
  SystemError error;
  done_there_.assign(duplicate(event_.number()), error);
  if (!error) wait_for_done();
}

Aside::~Aside() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  task_came_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Aside::run(std::function<void()> work, std::function<void()> done) {
  if (!done_there_.is_open() || !begin_thread()) {
    work();
    return done();
  }
  {
    const MutexLock lock(mutex_);
    tasks_.push_back({std::move(work), std::move(done)});
  }
  task_came_.notify_one();
}

bool Aside::begin_thread() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { work_off(); });
  } catch (const std::system_error&) {  // no memory, or too many threads; it passes no further
    return false;
  }
  return true;
}

void Aside::work_off() {
  MutexLock lock(mutex_);
  for (;;) {
    task_came_.wait(lock.native(), [&]() REQUIRES(mutex_) { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    Task task = std::move(tasks_.front());
    tasks_.erase(tasks_.begin());
    lock.unlock();
    task.work();
    task.work = nullptr;  // `done` still holds what it held
    lock.lock();
    done_.push_back(std::move(task.done));
    announce();
  }
}

void Aside::announce() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.number(), &one, sizeof(one));
}

void Aside::wait_for_done() {
  done_there_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read, [this](const SystemError& error) {
        if (error) return;
        std::uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t got = ::read(event_.number(), &ignored, sizeof(ignored));
        std::vector<std::function<void()>> done;
        {
          const MutexLock lock(mutex_);
          done.swap(done_);
        }
        for (const auto& one : done) one();
        wait_for_done();
      });
}

}  // namespace assay::server
