// A host device that claims to be a GPU, for libraries that only look at a device's kind.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "support/test_device.h"

namespace assay {

class HostGpu final : public Device {
 public:
  HostGpu(const std::string& backend, const std::string& arch)
      : real_(open_test_device("cpu")), facts_(real_->facts()) {
    facts_.backend = backend;
    facts_.runs_on_host = false;
    facts_.arch = arch;
    facts_.name = "a GPU of the tests";
  }
  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return real_->memory_free_and_total();
  }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    return real_->allocate(bytes, kind);
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override {
    return real_->create_stream(priority);
  }
  Result<std::unique_ptr<Event>> create_event(EventKind kind) override {
    return real_->create_event(kind);
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return real_->build(source);
  }
  Status enable_peer_access(int peer) override { return real_->enable_peer_access(peer); }
  Status make_current() override { return real_->make_current(); }
  SensorReading sense() const override { return {}; }

 private:
  std::unique_ptr<Device> real_;
  DeviceFacts facts_;
};

}  // namespace assay
