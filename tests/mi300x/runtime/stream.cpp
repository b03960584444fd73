#include "runtime/stream.h"

#include <algorithm>
#include <chrono>

#include "runtime/handles.h"

using mi300x::runtime::Step;

namespace mi300x::runtime {

namespace {

std::atomic<int> executing{0};

}  // namespace

// ---- Moments ----

void Moment::reach(double time) {
  const std::lock_guard lock(mutex_);
  reached_ = true;
  time_ = time;
  changed_.notify_all();
}

bool Moment::reached() const {
  const std::lock_guard lock(mutex_);
  return reached_;
}

double Moment::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_; });
  return time_;
}

double perform(Device& device, const Step& work, double start) {
  if (device.failure(true) != hipSuccess) return start;
  try {
    return work(start);
  } catch (const Fault& fault) {
    device.fail(error_of(fault), fault.what());
    return start;
  }
}

}  // namespace mi300x::runtime

// ---- The worker ----

int ihipStream_t::running() {
  return mi300x::runtime::executing;
}

ihipStream_t::~ihipStream_t() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

void ihipStream_t::push(Step step) {
  const std::lock_guard lock(mutex_);
  queue_.push_back({mi300x::runtime::host_seconds(), std::move(step)});
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  changed_.notify_all();
}

std::shared_ptr<mi300x::runtime::Moment> ihipStream_t::mark() {
  auto moment = std::make_shared<mi300x::runtime::Moment>();
  push([moment](double start) {
    moment->reach(start);
    return start;
  });
  return moment;
}

bool ihipStream_t::idle() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() && !busy_;
}

void ihipStream_t::drain() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void ihipStream_t::work() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Queued next = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    ++mi300x::runtime::executing;
    clock_ = next.step(std::max(clock_, next.at));
    --mi300x::runtime::executing;
    // The end of work must not be visible before it happens.
    std::this_thread::sleep_until(Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(clock_))));
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

namespace mi300x::runtime {

std::shared_ptr<ihipStream_t> stream_of(hipStream_t handle) {
  if (handle != nullptr) return Handles<ihipStream_t>::instance().find(handle);
  Runtime& runtime = Runtime::instance();
  return runtime.valid(current_device) ? runtime.current().default_stream() : nullptr;
}

void queue_wait(ihipStream_t& stream, const std::shared_ptr<Moment>& moment) {
  stream.push([moment](double start) { return std::max(start, moment->wait()); });
}

void join_default(ihipStream_t& stream) {
  if (!stream.blocking()) return;
  const auto own = stream.device.default_stream();
  if (own.get() == &stream) {
    for (const auto& other : stream.device.streams()) {
      if (other.get() != &stream && other->blocking() && !other->idle()) {
        queue_wait(stream, other->mark());
      }
    }
  } else if (!own->idle()) {
    queue_wait(stream, own->mark());
  }
}

hipError_t submit(hipStream_t handle, Step work) {
  const auto stream = stream_of(handle);
  if (!stream) return hipErrorInvalidHandle;
  const hipError_t failure = stream->device.failure(true);
  if (failure != hipSuccess) return failure;
  {
    const std::lock_guard lock(capture_mutex());
    if (stream->capture) {
      if (stream->capture->invalid) return hipErrorStreamCaptureInvalidated;
      add_node(*stream, std::move(work));
      return hipSuccess;
    }
    if (stream->spoiled) return hipErrorStreamCaptureInvalidated;
  }
  join_default(*stream);
  stream->push([&device = stream->device, work = std::move(work)](double start) {
    return perform(device, work, start);
  });
  return hipSuccess;
}

hipError_t submit_and_wait(hipStream_t handle, Step work) {
  if (const hipError_t forbidden = forbidden_by_capture()) return forbidden;
  const auto stream = stream_of(handle);
  if (!stream) return hipErrorInvalidHandle;
  const hipError_t error = submit(handle, std::move(work));
  if (error != hipSuccess) return error;
  stream->drain();
  return stream->device.failure(true);
}

}  // namespace mi300x::runtime
