// A scripted device for tests: kernels really run, synchronously on the CPU, but times come from
// the script. It implements the gate and the clock probe itself, because both depend on time.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "compute/backends/cpu/cpu_device.h"
#include "compute/backends/cpu/cpu_stream.h"
#include "compute/backends/cpu/host_facts.h"
#include "compute/backends/fake/fake_script.h"
#include "compute/device/backend.h"
#include "core/random.h"
#include "core/units.h"

namespace assay::fake::fake_backend {
namespace {

constexpr double nominal_clock_hz = 1e9;
constexpr double throttled_clock = 0.6;

/// The duration of one piece of work.
struct Duration {
  double seconds = 0;
  double cycles = 0;  // cycles of the engine clock
};

/// Computes durations with the noise, drift and throttling of the script.
class Pace {
 public:
  explicit Pace(const FakeScript& script) : script_(script), random_(script.seed) {}

  /// Returns the duration of work that starts at `now` and would take `nominal` seconds without
  /// these effects.
  Duration of(double nominal, double now) {
    const double rho = script_.autocorrelation;
    noise_ = rho * noise_ + std::sqrt(1 - rho * rho) * random_.normal();
    const double clock = random_.uniform() < script_.throttled_share ? throttled_clock : 1;
    const double seconds =
        nominal / clock * std::exp(script_.noise * noise_) * (1 + script_.drift * now);
    return {seconds, seconds * clock * nominal_clock_hz};
  }

 private:
  FakeScript script_;
  Random random_;
  double noise_ = 0;
};

/// State shared by all devices of a script.
struct Box {
  double host_seconds = 1;    // the host's time; not 0, which the clock probe takes for "never"
  double copies_seconds = 0;  // end of the last copy, if one engine serves all devices
};

class FakeEvent final : public Event {
 public:
  explicit FakeEvent(EventKind kind) : kind_(kind) {}
  Status synchronize() override { return {}; }
  Result<bool> done() const override { return true; }
  Result<double> seconds_since(const Event& start) const override {
    const auto& begin = static_cast<const FakeEvent&>(start);
    if (kind_ == EventKind::untimed || begin.kind_ == EventKind::untimed) return no_event_time();
    if (!seconds || !begin.seconds) {
      return Error{ErrorKind::failed, "fake: the time between events that were not recorded"};
    }
    return *seconds - *begin.seconds;
  }
  std::optional<double> seconds;  ///< time of the last recording

 private:
  EventKind kind_;
};

struct State {
  State(const FakeScript& s, int number, std::shared_ptr<Box> shared)
      : script(s),
        ordinal(number),
        box(std::move(shared)),
        pace(s),
        pool({cpu::usable_cpus().front()}) {}
  FakeScript script;
  int ordinal;
  std::shared_ptr<Box> box;
  Pace pace;
  ThreadPool pool;
  std::uint64_t launches = 0;
};

class FakeGraph final : public Graph {
 public:
  std::vector<std::function<Status()>> operations;
};

/// Runs work immediately, in the order of the calls; only its times are those of concurrent
/// streams.
class FakeStream final : public Stream {
 public:
  explicit FakeStream(State& state) : state_(state) {}

  using Stream::launch;
  Status launch(const Kernel& kernel, const LaunchShape& shape,
                std::span<void* const> arguments) override {
    const cpu::KernelEntry& entry = static_cast<const cpu::CpuKernel&>(kernel).entry();
    std::vector<std::vector<std::max_align_t>> values;  // copied, because graphs run later
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
  Status copy_from_peer(void* destination, int source_ordinal, const void* source,
                        std::size_t bytes) override {
    return copy_between(source_ordinal, destination, source, bytes);
  }
  Status copy_to_peer(int destination_ordinal, void* destination, const void* source,
                      std::size_t bytes) override {
    return copy_between(destination_ordinal, destination, source, bytes);
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
      static_cast<FakeEvent&>(event).seconds = begin();
      return {};
    });
  }
  Status wait(const Event& event) override {
    return run([this, &event]() -> Status {
      idle_until(static_cast<const FakeEvent&>(event).seconds.value_or(0));
      return {};
    });
  }
  Status synchronize() override {
    std::this_thread::sleep_for(std::chrono::duration<double>(state_.script.late_seconds));
    state_.box->host_seconds = std::max(state_.box->host_seconds, seconds_);
    return {};
  }
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
  Status record_each_replay(Event& event) override {
    if (graph_ == nullptr) {
      return Error{ErrorKind::failed, "fake: record_each_replay() without begin_capture()"};
    }
    return record(event);
  }
  Status upload(Graph&) override { return {}; }
  Result<std::unique_ptr<Graph>> end_capture() override {
    return std::unique_ptr<Graph>(std::move(graph_));
  }
  Result<GraphUpdate> end_capture_into(Graph& graph) override {
    if (graph_ == nullptr) {
      return Error{ErrorKind::failed, "fake: end_capture_into() without begin_capture()"};
    }
    auto& operations = static_cast<FakeGraph&>(graph).operations;
    const bool same = operations.size() == graph_->operations.size();
    operations = std::move(graph_->operations);
    graph_.reset();
    return same ? GraphUpdate::in_place : GraphUpdate::rebuilt;
  }
  void* native_handle() override { return nullptr; }

 private:
  Status run(std::function<Status()> operation) {
    if (graph_ == nullptr) return operation();
    graph_->operations.push_back(std::move(operation));
    return {};
  }

  void idle_until(double seconds) {
    if (seconds <= seconds_) return;
    cycles_ += (seconds - seconds_) * nominal_clock_hz;
    seconds_ = seconds;
  }

  /// Returns when the next work can begin: not before the host queued it.
  double begin() {
    idle_until(state_.box->host_seconds);
    return seconds_;
  }

  void pass(double nominal) {
    const Duration duration = state_.pace.of(nominal, begin());
    seconds_ += duration.seconds;
    cycles_ += duration.cycles;
  }

  void pass_bytes(std::size_t bytes) {
    pass(static_cast<double>(bytes) / state_.script.bytes_per_second);
  }

  Status copy_between(int peer, void* destination, const void* source, std::size_t bytes) {
    return run([=, this]() -> Status {
      std::memmove(destination, source, bytes);
      const int slow = state_.script.slow_device;
      Box& box = *state_.box;
      begin();
      if (state_.script.serial_copies) idle_until(box.copies_seconds);
      pass_bytes(peer == slow || state_.ordinal == slow ? 2 * bytes : bytes);
      box.copies_seconds = seconds_;
      return {};
    });
  }

  Status run_kernel(const cpu::KernelEntry& entry, const LaunchShape& shape, void** arguments) {
    const std::string_view name = entry.name;
    if (name == "gate") return {};
    if (name == "mark_multiprocessors") {
      cpu::execute(state_.pool, entry, shape, arguments);
      return {};
    }
    if (name == "read_clock") {
      auto* reading = *static_cast<std::uint64_t**>(arguments[0]);
      begin();
      reading[0] = static_cast<std::uint64_t>(cycles_);
      reading[1] = static_cast<std::uint64_t>(seconds_ * 1e9);
      return {};
    }
    if (++state_.launches == state_.script.fail_at) {
      return Error{ErrorKind::failed, "fake: launch " + std::to_string(state_.launches) +
                                          " fails as requested by ASSAY_FAKE"};
    }
    cpu::execute(state_.pool, entry, shape, arguments);
    // Kernels that initialize and check are not corrupted: a corrupted check would prove nothing.
    const bool measured = name.rfind("initialize", 0) != 0 && name.rfind("check", 0) != 0 &&
                          name.rfind("fill", 0) != 0 && name != "exact_sum";
    if (state_.script.corrupt && measured && name != "empty") {
      **static_cast<unsigned char**>(arguments[0]) ^= 0x55;
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(state_.script.real_seconds));
    pass(state_.script.launch_seconds);
    return {};
  }

  State& state_;
  double seconds_ = 1;                // the stream's time
  double cycles_ = 1;                 // the cycles of its engine
  std::unique_ptr<FakeGraph> graph_;  // set while capturing
};

DeviceFacts fake_facts(const FakeScript& script, int ordinal) {
  DeviceFacts facts;
  facts.backend = "fake";
  facts.ordinal = ordinal;
  facts.name = "scripted device";
  facts.arch = "fake";
  facts.memory_bytes = script.memory_bytes;
  facts.last_level_cache_bytes = std::uint64_t{1} << 20;
  facts.multiprocessors = 4;
  facts.clock_hz = nominal_clock_hz;
  facts.cycle_counter = true;
  facts.runs_on_host = true;
  facts.emulated = script.emulated;
  return facts;
}

class FakeDevice final : public Device {
 public:
  FakeDevice(const FakeScript& script, int ordinal, std::shared_ptr<Box> box)
      : state_(script, ordinal, std::move(box)), facts_(fake_facts(script, ordinal)) {}

  static Result<std::unique_ptr<Device>> open(const FakeScript& script, int ordinal,
                                              std::shared_ptr<Box> box) {
    if (ordinal < 0 || ordinal >= script.devices) {
      return Error{ErrorKind::usage, "fake:" + std::to_string(ordinal) + ": only fake:0 to fake:" +
                                         std::to_string(script.devices - 1) + " exist"};
    }
    return std::unique_ptr<Device>(std::make_unique<FakeDevice>(script, ordinal, std::move(box)));
  }

  const DeviceFacts& facts() const override { return facts_; }
  Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const override {
    return std::pair{facts_.memory_bytes, facts_.memory_bytes};
  }
  Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) override {
    if (kind == MemoryKind::device && bytes > facts_.memory_bytes) {
      return Error{ErrorKind::exhausted, "fake: " + format_memory(bytes) + " requested, " +
                                             format_memory(facts_.memory_bytes) + " there"};
    }
    return cpu::allocate_host(bytes);
  }
  Result<std::unique_ptr<Stream>> create_stream(StreamPriority) override {
    return std::unique_ptr<Stream>(std::make_unique<FakeStream>(state_));
  }
  Result<std::unique_ptr<Event>> create_event(EventKind kind) override {
    return std::unique_ptr<Event>(std::make_unique<FakeEvent>(kind));
  }
  Result<std::unique_ptr<Program>> build(const ProgramSource& source) override {
    return cpu::program_of(source, cpu::kernel_variant());
  }
  int siblings() const override { return state_.script.devices; }
  Result<std::unique_ptr<Device>> open_sibling(int ordinal) override {
    return open(state_.script, ordinal, state_.box);
  }
  Status enable_peer_access(int) override { return {}; }
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
    std::vector<DeviceFacts> facts;
    for (int i = 0; i < parsed->devices; ++i) facts.push_back(fake_facts(*parsed, i));
    return facts;
  }
  Result<std::unique_ptr<Device>> open(int ordinal) override {
    return FakeDevice::open(TRY(script()), ordinal, std::make_shared<Box>());
  }

 private:
  static const char* script_text() { return std::getenv("ASSAY_FAKE"); }
  static Result<FakeScript> script() {
    if (script_text() == nullptr)
      return Error{ErrorKind::unavailable, "only for tests: ASSAY_FAKE is not set"};
    FakeScript script = TRY(parse_fake_script(script_text()));
    const char* rank = std::getenv("ASSAY_RANK");
    if (script.rank >= 0 && std::to_string(script.rank) != (rank == nullptr ? "0" : rank)) {
      FakeScript plain;
      plain.devices = script.devices;
      script = plain;
    }
    return script;
  }
};

const BackendRegistry::Add registered{
    []() -> std::unique_ptr<Backend> { return std::make_unique<FakeBackend>(); }};

}  // namespace
}  // namespace assay::fake::fake_backend
