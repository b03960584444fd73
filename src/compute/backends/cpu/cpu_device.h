// The CPU as a device: host memory, a pool of pinned threads, kernels compiled at build time.
#pragma once

#include <memory>
#include <string>

#include "compute/backends/cpu/peer_memory.h"
#include "compute/device/device.h"
#include "core/thread_pool.h"

namespace assay::cpu {

class CpuDevice final : public Device {
 public:
  CpuDevice();

  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override;
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override;
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority priority) override;
  Result<std::unique_ptr<Event>> create_event(EventKind kind) override;
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override;
  Status enable_peer_access(int peer_ordinal) override;
  Result<std::string> share(const Buffer& buffer) override { return peer_memory_.share(buffer); }
  Result<Buffer> open_shared(const std::string& text) override { return PeerMemory::open(text); }
  SensorReading sense() const override;

 private:
  DeviceFacts facts_;
  std::string variant_;
  ThreadPool pool_;
  PeerMemory peer_memory_;
};

/// Returns the kernels of the file `source.name` that were built for the instruction set `variant`
/// (kernel_variant()). `source.defines` are ignored. Error: failed if there are none.
Result<std::unique_ptr<Program>> program_of(const ProgramSource& source,
                                            const std::string& variant);

/// Allocates host memory aligned to a huge page, 2 MiB, whose pages have not been touched. It is
/// freed after all queued work, see unmap_after_queued_work(). Error: exhausted, naming the bytes
/// requested and available.
Result<Buffer> allocate_host(std::size_t bytes);

}  // namespace assay::cpu
