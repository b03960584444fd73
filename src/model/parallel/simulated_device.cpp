#include "model/parallel/simulated_device.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/kernel_registry.h"

namespace assay {
namespace {

Error not_simulated(std::string_view what) {
  return {ErrorKind::unsupported, std::string("a simulated device has no ") + std::string(what)};
}

/// What is queued on the streams of a device, and how far it has come.
class Timeline {
 public:
  /// An event: how often it was recorded by what is queued, how often by what is complete, and when
  /// that was last.
  struct Mark {
    int queued = 0, reached = 0;
    double time = 0;
  };
  /// Work with its remaining seconds, or a mark to be recorded or, if `number` is above 0,
  /// waited for.
  struct Item {
    SimulatedWork left;
    std::shared_ptr<Mark> mark;
    int number = 0;
  };
  struct Queue {
    std::deque<Item> items;
    double end = 0;  // when the last completed work ended
  };

  Queue& add_queue() { return queues_.emplace_back(); }

  /// Until all that is queued is complete.
  void run() {
    for (;;) {
      while (std::ranges::any_of(queues_, [&](Queue& queue) { return complete_first(queue); })) {
      }
      std::vector<Item*> working;
      for (Queue& queue : queues_) {
        if (!queue.items.empty() && queue.items.front().mark == nullptr) {
          working.push_back(&queue.items.front());
        }
      }
      if (working.empty()) return;
      std::vector<double> paces;
      for (const Item* item : working) paces.push_back(pace(*item, working));
      double next = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < working.size(); ++i) {
        next = std::min(next, working[i]->left.seconds * paces[i]);
      }
      for (std::size_t i = 0; i < working.size(); ++i) {
        double& left = working[i]->left.seconds;
        const double lasts = left * paces[i];
        left = lasts > next ? (lasts - next) / paces[i] : 0;
      }
      now_ += next;
    }
  }

 private:
  /// How many times as long an item takes beside the others: as long as beside the worst of them.
  static double pace(const Item& item, const std::vector<Item*>& working) {
    std::optional<double> slowest;
    for (const Item* other : working) {
      if (other == &item) continue;
      const auto known = item.left.slowed.find(other->left.kind);
      const double slowed = known != item.left.slowed.end() ? known->second : 1;
      slowest = std::max(slowest.value_or(slowed), slowed);
    }
    return slowest.value_or(1);
  }

  /// Takes a queue's first item away, if it needs no more time.
  bool complete_first(Queue& queue) const {
    if (queue.items.empty()) return false;
    const Item& item = queue.items.front();
    if (item.left.seconds > 0 || (item.number > 0 && item.mark->reached < item.number))
      return false;
    if (item.mark != nullptr && item.number == 0) {
      ++item.mark->reached;
      item.mark->time = now_;
    }
    queue.items.pop_front();
    queue.end = now_;
    return true;
  }

  std::deque<Queue> queues_;  // where they are when others are added
  double now_ = 0;
};

class SimulatedEvent final : public Event {
 public:
  explicit SimulatedEvent(std::shared_ptr<Timeline> timeline) : timeline_(std::move(timeline)) {}

  Status synchronize() override { return {}; }
  Result<bool> done() const override { return true; }
  Result<double> seconds_since(const Event& start) const override {
    timeline_->run();
    return mark->time - static_cast<const SimulatedEvent&>(start).mark->time;
  }

  const std::shared_ptr<Timeline::Mark> mark = std::make_shared<Timeline::Mark>();

 private:
  const std::shared_ptr<Timeline> timeline_;
};

class SimulatedStreamOfDevice final : public SimulatedStream {
 public:
  explicit SimulatedStreamOfDevice(std::shared_ptr<Timeline> timeline)
      : timeline_(std::move(timeline)), queue_(timeline_->add_queue()) {}

  void advance(const SimulatedWork& work) override {
    queue_.items.push_back({.left = work, .mark = nullptr});
  }
  double now() const override {
    timeline_->run();
    return queue_.end;
  }

  Status launch(const Kernel&, const LaunchShape&, std::span<void* const>) override { return {}; }
  Status launch(Graph&) override { return not_simulated("graphs"); }
  Status copy(void*, const void*, std::size_t) override { return {}; }
  Status copy_from_peer(void*, int, const void*, std::size_t) override { return {}; }
  Status copy_to_peer(int, void*, const void*, std::size_t) override { return {}; }
  Status fill(void*, std::uint8_t, std::size_t) override { return {}; }
  Status record(Event& event) override {
    const auto& mark = static_cast<SimulatedEvent&>(event).mark;
    ++mark->queued;
    queue_.items.push_back({.left = {}, .mark = mark});
    return {};
  }
  Status wait(const Event& event) override {
    const auto& mark = static_cast<const SimulatedEvent&>(event).mark;
    if (mark->queued > 0)
      queue_.items.push_back({.left = {}, .mark = mark, .number = mark->queued});
    return {};
  }
  Status synchronize() override { return {}; }
  Status begin_capture() override { return not_simulated("graphs"); }
  Result<std::unique_ptr<Graph>> end_capture() override { return not_simulated("graphs"); }
  Result<GraphUpdate> end_capture_into(Graph&) override { return not_simulated("graphs"); }
  Status record_each_replay(Event&) override { return not_simulated("graphs"); }
  Status upload(Graph&) override { return not_simulated("graphs"); }
  void* native_handle() override { return nullptr; }

 private:
  const std::shared_ptr<Timeline> timeline_;
  Timeline::Queue& queue_;
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
    return std::unique_ptr<Stream>(std::make_unique<SimulatedStreamOfDevice>(timeline_));
  }
  Result<std::unique_ptr<Event>> create_event(EventKind) override {
    return std::unique_ptr<Event>(std::make_unique<SimulatedEvent>(timeline_));
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return std::unique_ptr<Program>(std::make_unique<SimulatedProgram>(source.name));
  }
  Status enable_peer_access(int) override { return not_simulated("peers"); }
  SensorReading sense() const override { return {}; }

 private:
  static constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
  DeviceFacts facts_;
  const std::shared_ptr<Timeline> timeline_ = std::make_shared<Timeline>();
};

}  // namespace

std::unique_ptr<Device> make_simulated_device() {
  return std::make_unique<SimulatedDevice>();
}

}  // namespace assay
