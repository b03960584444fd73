// A GPU over the driver's function table: the same code for CUDA and HIP.
#pragma once

#include <memory>

#include "compute/backends/driver/place.h"
#include "compute/device/device.h"
#include "compute/device/kernel_cache.h"

namespace assay::driver {

/// Returns the error "cuda has 2 devices, numbered from 0: there is no 5".
Error no_such_device(std::string_view backend, int count, int ordinal);

class DriverDevice : public Device {
 public:
  /// Creates the device's context. Error: as Place::error().
  static Result<std::unique_ptr<Device>> open(std::shared_ptr<Dialect> dialect, int ordinal);

  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override;
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override;
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override;
  Result<std::unique_ptr<Event>> create_event(EventKind kind) override;
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override;
  Result<std::unique_ptr<Program>> load(const std::string& name, const std::string& code) override;
  Result<TensorMap> tensor_map(const TensorLayout& layout) override;
  int siblings() const override;
  Result<std::unique_ptr<Device>> open_sibling(int ordinal) override;
  Status enable_peer_access(int peer_ordinal) override;
  Result<std::string> share(const Buffer& buffer) override;
  Result<Buffer> open_shared(const std::string& text) override;
  Result<DmaBuf> export_dmabuf(void* address, std::size_t bytes) override;
  Status make_current() override;
  std::function<Status()> current_maker() const override;
  SensorReading sense() const override { return place_.dialect().sense(facts_); }

 private:
  DriverDevice(std::shared_ptr<Dialect> dialect, int ordinal);
  Error out_of_memory(std::size_t bytes, MemoryKind kind) const;

  Place place_;
  DeviceFacts facts_;
  KernelCache cache_;
};

}  // namespace assay::driver
