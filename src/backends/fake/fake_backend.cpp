// A scripted device for tests: kernels really run, on the CPU and at once, but time is what the
// script says. It answers the gate and the clock probe itself, since both are about time.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/cpu_stream.h"
#include "backends/cpu/host_facts.h"
#include "backends/fake/fake_script.h"
#include "core/random.h"
#include "core/units.h"
#include "device/backend.h"

namespace assay::fake {
namespace {

constexpr double nominal_clock_hz = 1e9;
constexpr double throttled_clock = 0.6;

/// The device's time: seconds and engine cycles since it was opened.
class VirtualClock {
 public:
  explicit VirtualClock(const FakeScript& script) : script_(script), random_(script.seed) {}

  double seconds() const { return seconds_; }
  double cycles() const { return cycles_; }

  /// Lets work pass that takes `nominal` seconds without noise, drift and throttling.
  void pass(double nominal) {
    const double rho = script_.autocorrelation;
    noise_ = rho * noise_ + std::sqrt(1 - rho * rho) * random_.normal();
    const double clock = random_.uniform() < script_.throttled_share ? throttled_clock : 1;
    const double elapsed =
        nominal / clock * std::exp(script_.noise * noise_) * (1 + script_.drift * seconds_);
    seconds_ += elapsed;
    cycles_ += elapsed * clock * nominal_clock_hz;
  }

 private:
  FakeScript script_;
  Random random_;
  double noise_ = 0;
  double seconds_ = 1;  // not 0, which the clock probe takes for "never written"
  double cycles_ = 1;
};

class FakeEvent final : public Event {
 public:
  Status synchronize() override { return {}; }
  Result<bool> done() const override { return true; }
  Result<double> seconds_since(const Event& start) const override {
    return seconds - static_cast<const FakeEvent&>(start).seconds;
  }
  double seconds = 0;
};

struct State {
  explicit State(const FakeScript& s) : script(s), clock(s), pool({cpu::usable_cpus().front()}) {}
  FakeScript script;
  VirtualClock clock;
  cpu::ThreadPool pool;
  std::uint64_t launches = 0;
};

class FakeGraph final : public Graph {
 public:
  std::vector<std::function<Status()>> operations;
};

class FakeStream final : public Stream {
 public:
  explicit FakeStream(State& state) : state_(state) {}

  Status launch(const Kernel& kernel, const LaunchShape& shape,
                std::span<void* const> arguments) override {
    const cpu::KernelEntry& entry = static_cast<const cpu::CpuKernel&>(kernel).entry();
    std::vector<std::vector<std::max_align_t>> values;  // copied now: a graph runs them later
    for (unsigned i = 0; i < entry.arguments; ++i) {
      values.emplace_back(entry.argument_bytes[i] / sizeof(std::max_align_t) + 1);
      std::memcpy(values.back().data(), arguments[i], entry.argument_bytes[i]);
    }
    return run([this, &entry, shape, values = std::move(values)]() mutable {
      std::vector<void*> pointers;
      for (auto& value : values) pointers.push_back(value.data());
      return run_kernel(entry, shape, pointers.data());
    });
  }
  Status launch(Graph& graph) override {
    for (auto& operation : static_cast<FakeGraph&>(graph).operations) TRY(operation());
    return {};
  }
  Status copy(void* destination, const void* source, std::size_t bytes) override {
    return run([=, this]() -> Status {
      std::memmove(destination, source, bytes);
      pass_bytes(bytes);
      return {};
    });
  }
  Status copy_from_peer(void* destination, int, const void* source, std::size_t bytes) override {
    return copy(destination, source, bytes);
  }
  Status fill(void* destination, std::uint8_t value, std::size_t bytes) override {
    return run([=, this]() -> Status {
      std::memset(destination, value, bytes);
      pass_bytes(bytes);
      return {};
    });
  }
  Status record(Event& event) override {
    return run([this, &event]() -> Status {
      static_cast<FakeEvent&>(event).seconds = state_.clock.seconds();
      return {};
    });
  }
  Status wait(const Event&) override { return {}; }
  Status synchronize() override { return {}; }
  Status call(std::function<void()> function) override {
    return run([function = std::move(function)]() -> Status {
      function();
      return {};
    });
  }
  Status begin_capture() override {
    graph_ = std::make_unique<FakeGraph>();
    return {};
  }
  Result<std::unique_ptr<Graph>> end_capture() override {
    return std::unique_ptr<Graph>(std::move(graph_));
  }
  void* native_handle() const override { return nullptr; }

 private:
  Status run(std::function<Status()> operation) {
    if (graph_ == nullptr) return operation();
    graph_->operations.push_back(std::move(operation));
    return {};
  }

  void pass_bytes(std::size_t bytes) {
    state_.clock.pass(static_cast<double>(bytes) / state_.script.bytes_per_second);
  }

  Status run_kernel(const cpu::KernelEntry& entry, const LaunchShape& shape, void** arguments) {
    const std::string_view name = entry.name;
    if (name == "gate") return {};
    if (name == "read_clock") {
      auto* reading = *static_cast<std::uint64_t**>(arguments[0]);
      reading[0] = static_cast<std::uint64_t>(state_.clock.cycles());
      reading[1] = static_cast<std::uint64_t>(state_.clock.seconds() * 1e9);
      return {};
    }
    if (++state_.launches == state_.script.fail_at) {
      return Error{ErrorKind::failed,
                   "fake: launch " + std::to_string(state_.launches) + " fails as ASSAY_FAKE asks"};
    }
    cpu::execute(state_.pool, entry, shape, arguments);
    // The kernels that set up and check are spared: a corrupted check would prove nothing.
    const bool measured = name.rfind("initialize", 0) != 0 && name.rfind("check", 0) != 0 &&
                          name.rfind("fill", 0) != 0 && name != "exact_sum";
    if (state_.script.corrupt && measured && name != "empty") {
      **static_cast<unsigned char**>(arguments[0]) ^= 0x55;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(state_.script.real_seconds));
    state_.clock.pass(state_.script.launch_seconds);
    return {};
  }

  State& state_;
  std::unique_ptr<FakeGraph> graph_;  // set while capturing
};

DeviceFacts fake_facts(const FakeScript& script) {
  DeviceFacts facts;
  facts.backend = "fake";
  facts.name = "scripted device";
  facts.arch = "fake";
  facts.memory_bytes = script.memory_bytes;
  facts.last_level_cache_bytes = std::uint64_t{1} << 20;
  facts.multiprocessors = 4;
  facts.clock_hz = nominal_clock_hz;
  facts.cycle_counter = true;
  return facts;
}

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(const FakeScript& script) : state_(script), facts_(fake_facts(script)) {}

  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return std::pair{facts_.memory_bytes, facts_.memory_bytes};
  }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    if (kind == MemoryKind::device && bytes > facts_.memory_bytes) {
      return Error{ErrorKind::exhausted, "fake: " + format_memory(bytes) + " asked for, " +
                                             format_memory(facts_.memory_bytes) + " there"};
    }
    return cpu::allocate_host(bytes);
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority) override {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>(state_));
  }
  Result<std::unique_ptr<Event>> create_event() override {
    return std::unique_ptr<Event>(std::make_unique<FakeEvent>());
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return cpu::program_of(source, cpu::kernel_variant());
  }
  Status enable_peer_access(int) override { return {}; }
  Status make_current() override { return {}; }
  SensorReading sense() const override {
    SensorReading reading;
    reading.clock_hz = nominal_clock_hz;
    reading.power_watts = 100;
    return reading;
  }

 private:
  State state_;
  DeviceFacts facts_;
};

class FakeBackend final : public Backend {
 public:
  std::string_view name() const override { return "fake"; }
  int score() override { return script() ? -1 : 0; }
  std::string absence() override {
    const auto parsed = script();
    return parsed ? "" : parsed.error().message;
  }
  std::vector<LibraryFact> libraries() override { return {}; }
  std::vector<DeviceFacts> devices() override {
    const auto parsed = script();
    if (!parsed) return {};
    return {fake_facts(*parsed)};
  }
  Result<std::unique_ptr<Device>> open(int ordinal) override {
    if (ordinal != 0) {
      return Error{ErrorKind::usage, "fake:" + std::to_string(ordinal) + ": only fake:0 exists"};
    }
    return std::unique_ptr<Device>(std::make_unique<FakeDevice>(TRY(script())));
  }

 private:
  static const char* script_text() { return std::getenv("ASSAY_FAKE"); }
  static Result<FakeScript> script() {
    if (script_text() == nullptr)
      return Error{ErrorKind::unavailable, "only for tests: ASSAY_FAKE is not set"};
    return parse_fake_script(script_text());
  }
};

const BackendRegistry::Add registered{
    []() -> std::unique_ptr<Backend> { return std::make_unique<FakeBackend>(); }};

}  // namespace
}  // namespace assay::fake
