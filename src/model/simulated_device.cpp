#include "model/simulated_device.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "compute/device/kernel_registry.h"

namespace assay {
namespace {

Error not_simulated(std::string_view what) {
  return {ErrorKind::unsupported, std::string("a simulated device has no ") + std::string(what)};
}

class SimulatedEvent final : public Event {
 public:
  Status synchronize() override { return {}; }
  Result<bool> done() const override { return true; }
  Result<double> seconds_since(const Event& start) const override {
    return time - static_cast<const SimulatedEvent&>(start).time;
  }

  double time = 0;
};

class SimulatedStreamOfDevice final : public SimulatedStream {
 public:
  void advance(double seconds) override { now_ += seconds; }
  double now() const override { return now_; }

  Status launch(const Kernel&, const LaunchShape&, std::span<void* const>) override { return {}; }
  Status launch(Graph&) override { return not_simulated("graphs"); }
  Status copy(void*, const void*, std::size_t) override { return {}; }
  Status copy_from_peer(void*, int, const void*, std::size_t) override { return {}; }
  Status copy_to_peer(int, void*, const void*, std::size_t) override { return {}; }
  Status fill(void*, std::uint8_t, std::size_t) override { return {}; }
  Status record(Event& event) override {
    static_cast<SimulatedEvent&>(event).time = now_;
    return {};
  }
  Status wait(const Event& event) override {
    now_ = std::max(now_, static_cast<const SimulatedEvent&>(event).time);
    return {};
  }
  Status synchronize() override { return {}; }
  Status begin_capture() override { return not_simulated("graphs"); }
  Result<std::unique_ptr<Graph>> end_capture() override { return not_simulated("graphs"); }
  Result<GraphUpdate> end_capture_into(Graph&) override { return not_simulated("graphs"); }
  Status record_each_replay(Event&) override { return not_simulated("graphs"); }
  Status upload(Graph&) override { return not_simulated("graphs"); }
  void* native_handle() const override { return nullptr; }

 private:
  double now_ = 0;
};

class SimulatedKernel final : public Kernel {
 public:
  using Kernel::Kernel;
  Result<KernelResources> resources() const override { return KernelResources(); }
  Result<int> blocks_per_multiprocessor(int, unsigned) const override { return 1; }
  Status allow_dynamic_shared(unsigned) override { return {}; }
};

/// Has all kernels of the source, with the parameters that they have on every device.
class SimulatedProgram final : public Program {
 public:
  explicit SimulatedProgram(const std::string& source) : file_(source + ".cu") {}

  Result<Kernel*> kernel(std::string_view name) override {
    const std::string key(name);
    const cpu::KernelEntry* const entry = cpu::find_kernel(file_.c_str(), key.c_str(), nullptr);
    if (entry == nullptr) return Error{ErrorKind::failed, file_ + " has no kernel " + key};
    const std::span parameters(entry->argument_bytes, entry->arguments);
    return &kernels_.try_emplace(key, parameters).first->second;
  }

 private:
  std::string file_;
  std::map<std::string, SimulatedKernel> kernels_;
};

class SimulatedDevice final : public Device {
 public:
  SimulatedDevice() {
    facts_.backend = facts_.name = "simulated";
    facts_.multiprocessors = 1;
  }

  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return std::pair(most_bytes, most_bytes);
  }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind) override {
    // Addresses are only compared and added to.
    void* const address = std::bit_cast<void*>(std::uintptr_t{4096});
    return Buffer(address, bytes, nullptr, [](void*, void*, std::size_t) {});
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority) override {
    return std::unique_ptr<Stream>(std::make_unique<SimulatedStreamOfDevice>());
  }
  Result<std::unique_ptr<Event>> create_event(EventKind) override {
    return std::unique_ptr<Event>(std::make_unique<SimulatedEvent>());
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return std::unique_ptr<Program>(std::make_unique<SimulatedProgram>(source.name));
  }
  Status enable_peer_access(int) override { return not_simulated("peers"); }
  SensorReading sense() const override { return {}; }

 private:
  static constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  DeviceFacts facts_;
};

}  // namespace

std::unique_ptr<Device> make_simulated_device() {
  return std::make_unique<SimulatedDevice>();
}

}  // namespace assay
