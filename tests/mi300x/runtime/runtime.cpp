#include "runtime/runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/coverage.h"
#include "runtime/stream.h"
#include "runtime/virtual.h"

namespace mi300x::runtime {

thread_local int current_device = 0;
thread_local hipError_t last_error = hipSuccess;

double host_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

hipError_t error_of(const Fault& fault) {
  return fault.kind == FaultKind::illegal_address ? hipErrorIllegalAddress : hipErrorLaunchFailure;
}

// ---- Device ----

Device::Device(int number, const Machine& machine)
    : ordinal(number), chip(machine.chip(number)), memory_bytes(machine.memory_bytes) {}

hipError_t Device::failure(bool waits) const {
  return lost_ && !waits ? hipErrorNoDevice : failure_.load();
}

void Device::fail(hipError_t error, const std::string& message) {
  hipError_t none = hipSuccess;
  if (failure_.compare_exchange_strong(none, error)) Runtime::instance().note_fault(message);
}

bool Device::begin_launch() {
  if (!Runtime::instance().injection.loses(++launches_)) return true;
  lost_ = true;
  fail(hipErrorLaunchFailure, "device " + std::to_string(ordinal) + " is lost, as asked");
  return false;
}

std::shared_ptr<ihipStream_t> Device::default_stream() {
  const std::lock_guard lock(mutex_);
  if (!default_) default_ = std::make_shared<ihipStream_t>(*this, hipStreamDefault, 0);
  return default_;
}

void Device::add(const std::shared_ptr<ihipStream_t>& stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

std::vector<std::shared_ptr<ihipStream_t>> Device::streams() const {
  const std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& stream) { return stream.expired(); });
  std::vector<std::shared_ptr<ihipStream_t>> all;
  for (const auto& stream : streams_) {
    if (auto alive = stream.lock()) all.push_back(std::move(alive));
  }
  if (default_) all.push_back(default_);
  return all;
}

bool Device::enable_peer(int peer) {
  const std::lock_guard lock(mutex_);
  return !peers_.insert(peer).second;
}

bool Device::disable_peer(int peer) {
  const std::lock_guard lock(mutex_);
  return peers_.erase(peer) > 0;
}

// ---- Runtime ----

Runtime::Runtime() {
  reset();
  // Kernels must stop before the emulator's static objects are destroyed at exit.
  std::atexit([] {
    write_coverage();
    Runtime::instance().ending = true;
    for (int i = 0; i < 200 && ihipStream_t::running() > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
}

Runtime& Runtime::instance() {
  static Runtime& the_runtime = *new Runtime;
  return the_runtime;
}

void Runtime::reset() {
  machine = Machine::from_environment();
  const char* faults = std::getenv("MI300X_FAULT");
  injection.read(faults != nullptr ? faults : "");
  for (auto& device : devices_) retired_.push_back(std::move(device));
  devices_.clear();
  for (int i = 0; i < machine.devices(); ++i) {
    devices_.push_back(std::make_unique<Device>(i, machine));
  }
  const std::lock_guard lock(mutex_);
  last_fault_.clear();
}

Device& Runtime::current() {
  return device(current_device);
}

void Runtime::note_fault(const std::string& message) {
  std::fprintf(stderr, "virtual MI300X: %s\n", message.c_str());
  const std::lock_guard lock(mutex_);
  last_fault_ = message;
}

const char* Runtime::last_fault() const {
  const std::lock_guard lock(mutex_);
  thread_local std::string copy;
  copy = last_fault_;
  return copy.c_str();
}

}  // namespace mi300x::runtime
