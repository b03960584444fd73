#include "compute/backends/cpu/cpu_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "compute/backends/cpu/cpu_event.h"
#include "compute/backends/cpu/cpu_stream.h"
#include "compute/backends/cpu/host_facts.h"
#include "compute/device/backend.h"
#include "core/units.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#endif
#endif
#if !defined(ASAN_POISON_MEMORY_REGION)
#define ASAN_POISON_MEMORY_REGION(address, bytes) \
  (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) \
  (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace assay::cpu {
namespace {

class CpuProgram final : public Program {
 public:
  CpuProgram(std::string file, std::string variant)
      : file_(std::move(file)), variant_(std::move(variant)) {}

  Result<Kernel*> kernel(std::string_view name) override {
    const auto known = kernels_.find(name);
    if (known != kernels_.end()) return static_cast<Kernel*>(&known->second);
    const std::string text(name);
    const KernelEntry* entry = find_kernel(file_.c_str(), text.c_str(), variant_.c_str());
    if (entry == nullptr) {
      return Error{ErrorKind::failed, file_ + ": no kernel named " + text};
    }
    std::size_t slots = 0;
    for (unsigned i = 0; i < entry->arguments; ++i) slots += value_slots(entry->argument_bytes[i]);
    if (slots > KernelLaunch().values.size()) {
      return Error{ErrorKind::failed,
                   file_ + ": " + text + " has more parameters than the CPU backend can queue"};
    }
    return static_cast<Kernel*>(&kernels_.try_emplace(text, *entry).first->second);
  }

 private:
  std::string file_;
  std::string variant_;
  std::map<std::string, CpuKernel, std::less<>> kernels_;
};

class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  int score() override { return kernel_variant().empty() ? 0 : 1; }
  std::string absence() override {
    if (score() > 0) return "";
    return "the kernels were built for " + built_variants() + ", and this CPU has none of these";
  }
  std::vector<LibraryFact> libraries() override { return {}; }
  std::vector<DeviceFacts> devices() override {
    if (score() == 0) return {};
    return {host_facts()};
  }
  Result<std::unique_ptr<Device>> open(int ordinal) override {
    if (ordinal != 0) {
      return Error{ErrorKind::usage, "cpu:" + std::to_string(ordinal) +
                                         ": the CPU backend has one device, cpu:0; restrict it to "
                                         "some CPUs with taskset or numactl"};
    }
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>());
  }
};

const BackendRegistry::Add registered{
    []() -> std::unique_ptr<Backend> { return std::make_unique<CpuBackend>(); }};

constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Returns how many bytes of the last page lie behind the buffer. The memory comes from mmap, not
/// malloc, so the address sanitizer must be told to forbid access to them.
std::size_t bytes_behind(std::size_t bytes) {
  return (4096 - bytes % 4096) % 4096;
}

}  // namespace

CpuDevice::CpuDevice() : facts_(host_facts()), variant_(kernel_variant()), pool_(usable_cpus()) {}

Result<std::pair<std::uint64_t, std::uint64_t>> CpuDevice::memory_free_and_total() const {
  return cpu::memory_free_and_total();
}

Result<Buffer> CpuDevice::allocate(std::size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::peer) return peer_memory_.allocate(bytes);
  Buffer buffer = TRY(allocate_host(bytes));
  if (kind == MemoryKind::pageable) return buffer;
  // First touch by the thread that will use a page, with the same split that kernels use, puts it
  // on that thread's NUMA node. Huge pages avoid TLB misses in streaming.
  madvise(buffer.data(), buffer.bytes(), MADV_HUGEPAGE);
  pool_.run([&](std::size_t worker) {
    const std::size_t begin = bytes / pool_.size() * worker;
    const std::size_t end =
        worker + 1 == pool_.size() ? bytes : bytes / pool_.size() * (worker + 1);
    for (std::size_t at = begin; at < end; at += 4096) buffer.as<volatile char>()[at] = 0;
  });
  return buffer;
}

Result<std::unique_ptr<Stream>> CpuDevice::create_stream(StreamPriority) {
  return std::unique_ptr<Stream>(std::make_unique<CpuStream>(pool_));
}

Result<std::unique_ptr<Event>> CpuDevice::create_event(EventKind kind) {
  return std::unique_ptr<Event>(std::make_unique<CpuEvent>(kind));
}

Result<std::unique_ptr<Program>> CpuDevice::build(const ProgramSource& source) {
  return program_of(source, variant_);
}

Status CpuDevice::enable_peer_access(int peer_ordinal) {
  if (peer_ordinal == 0) return {};
  return Error{ErrorKind::unsupported, "the CPU backend has one device and no peers"};
}

SensorReading CpuDevice::sense() const {
  SensorReading reading;
  if (const double clock = measure_core_clock(); clock > 0) reading.clock_hz = clock;
  return reading;
}

Result<std::unique_ptr<Program>> program_of(const ProgramSource& source,
                                            const std::string& variant) {
  const std::string file = source.name + ".cu";
  for (const KernelEntry* entry = kernel_entries; entry != nullptr; entry = entry->next) {
    if (file == entry->file && variant == entry->variant) {
      return std::unique_ptr<Program>(std::make_unique<CpuProgram>(file, variant));
    }
  }
  return Error{ErrorKind::failed, file + ": no kernels of this file in the build for " + variant};
}

Result<Buffer> allocate_host(std::size_t bytes) {
  // Linux would overcommit and kill the process on first touch, so check beforehand.
  const std::uint64_t free = cpu::memory_free_and_total().first;
  const auto refuse = [&]() -> Error {
    return {ErrorKind::exhausted, "host memory: " + format_memory(bytes) + " requested, " +
                                      format_memory(free) + " available; choose a smaller size"};
  };
  if (bytes > free) return refuse();
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* address = mmap(nullptr, mapped + huge_page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return refuse();
  // Keep the part that starts on a huge page, so that all arrays have the same alignment.
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
  if (aligned > start) munmap(address, aligned - start);
  const std::uintptr_t end = (aligned + mapped + 4095) / 4096 * 4096;
  if (start + mapped + huge_page > end) {
    munmap(reinterpret_cast<void*>(end), start + mapped + huge_page - end);
  }
  ASAN_POISON_MEMORY_REGION(reinterpret_cast<std::byte*>(aligned) + bytes, bytes_behind(bytes));
  return Buffer(
      reinterpret_cast<void*>(aligned), bytes, nullptr, [](void*, void* memory, std::size_t size) {
        ASAN_UNPOISON_MEMORY_REGION(static_cast<std::byte*>(memory) + size, bytes_behind(size));
        unmap_after_queued_work(memory, std::max<std::size_t>(size, 1));
      });
}

}  // namespace assay::cpu
