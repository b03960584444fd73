#include "compute/vendor/tracing/cupti_tracer.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "compute/device/vendor_libraries.h"
#include "compute/vendor/tracing/cupti_api.h"
#include "core/host_time.h"
#include "core/mutex.h"

namespace assay {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::array kinds = {
    cupti::kind::kernel,      cupti::kind::copy,         cupti::kind::peer_copy, cupti::kind::fill,
    cupti::kind::driver_call, cupti::kind::runtime_call, cupti::kind::external};

template <typename T>
T field(const std::uint8_t* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

std::string demangled(const char* name) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 ? plain : name;
  std::free(plain);
  return text;
}

/// A buffer that CUPTI has filled.
struct FilledBuffer {
  std::uint8_t* memory = nullptr;
  std::size_t valid = 0;
};

class CuptiTracer;
/// The library hands its buffers to functions without an argument of ours.
std::atomic<CuptiTracer*> the_tracer = nullptr;

class CuptiTracer final : public ActivityTracer {
 public:
  explicit CuptiTracer(const cupti::Functions& functions) : cupti_(functions) {}
  /// Ends only what this tracer began: another profiler of the process may trace on.
  ~CuptiTracer() override {
    if (tag_ != 0) (void)tag(0);
    for (const int kind : enabled_) (void)cupti_.disable(kind);
    if (has_buffers_) (void)cupti_.flush_all(1);
    if (subscriber_ != nullptr) (void)cupti_.unsubscribe(subscriber_);
    the_tracer = nullptr;
    forget();
  }

  Status begin() {
    std::uint32_t version = 0;
    TRY(check("cuptiGetVersion", cupti_.get_version(&version)));
    // 18 to 25 are CUDA 12, later ones count as CUDA does: 130000 is 13.0.
    name_ = version >= 100'000 ? fmt::format("CUPTI {}.{}", version / 10'000, version / 100 % 100)
                               : fmt::format("CUPTI, interface {}", version);
    TRY(check("cuptiSubscribe", cupti_.subscribe(&subscriber_, &on_callback, this)));
    for (const std::uint32_t id : {cupti::node_created, cupti::node_cloned}) {
      TRY(check("cuptiEnableCallback",
                cupti_.enable_callback(1, subscriber_, cupti::resource_domain, id)));
    }
    TRY(check("cuptiActivityRegisterCallbacks",
              cupti_.register_buffers(&request_buffer, &complete_buffer)));
    has_buffers_ = true;
    for (const int kind : kinds) {
      TRY(check(fmt::format("cuptiActivityEnable of kind {}", kind), cupti_.enable(kind)));
      enabled_.push_back(kind);
    }
    return {};
  }

  std::string name() const override { return name_; }

  Status tag(std::uint64_t number) override {
    if (tag_ != 0) {
      std::uint64_t last = 0;
      tag_ = 0;
      TRY(check("cuptiActivityPopExternalCorrelationId",
                cupti_.pop_external(cupti::external_custom, &last)));
    }
    if (number == 0) return {};
    TRY(check("cuptiActivityPushExternalCorrelationId",
              cupti_.push_external(cupti::external_custom, number)));
    tag_ = number;
    return {};
  }

  Status start() override {
    TRY(check("cuptiActivityFlushAll", cupti_.flush_all(1)));
    forget();
    TRY(count_dropped());  // losses before the start do not count
    out_of_memory_ = false;
    recording_ = true;
    begin_ = TRY(offset_of_host());
    return {};
  }

  Result<std::vector<DeviceActivity>> stop() override {
    const ClockOffset end = TRY(offset_of_host());
    TRY(check("cuptiActivityFlushAll", cupti_.flush_all(1)));
    recording_ = false;
    const std::vector<FilledBuffer> filled = take_filled();
    std::vector<DeviceActivity> found;
    std::unordered_map<std::uint32_t, std::uint64_t> tags;  // by correlation
    std::vector<std::uint32_t> correlations;                // of `found`
    untimed_ = 0;
    Status read;
    for (const FilledBuffer& buffer : filled) {
      std::uint8_t* record = nullptr;
      int status = cupti::success;
      while ((status = cupti_.next_record(buffer.memory, buffer.valid, &record)) ==
             cupti::success) {
        read_record(record, end, found, correlations, tags);
      }
      if (status != cupti::no_more_records && read.ok()) {
        read = check("cuptiActivityGetNextRecord", status);
      }
      std::free(buffer.memory);
    }
    TRY(std::move(read));
    if (out_of_memory_) {
      return Error{ErrorKind::exhausted,
                   "there is no memory for the records of " + name_ + "; record fewer steps"};
    }
    if (const std::size_t lost = TRY(count_dropped()) + untimed_; lost > 0) {
      return Error{ErrorKind::failed,
                   fmt::format("{} lost {} records; record fewer steps", name_, lost)};
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto tagged = tags.find(correlations[i]);
      if (tagged != tags.end()) found[i].call_tag = tagged->second;
    }
    std::ranges::sort(found, {}, &DeviceActivity::begin);
    return found;
  }

 private:
  /// The host's monotonic clock minus the library's clock, at a time of the latter. Both in ns.
  struct ClockOffset {
    std::int64_t time = 0, offset = 0;
  };

  Status check(std::string_view call, int status) const {
    if (status == cupti::success) return {};
    const char* text = nullptr;
    (void)cupti_.error_text(status, &text);
    if (status == cupti::multiple_subscribers) {
      return Error{ErrorKind::unavailable,
                   "another profiler traces this process already; end it, or record with "
                   "--recorder events"};
    }
    return Error{ErrorKind::failed,
                 fmt::format("{}: {} ({})", call, text == nullptr ? "an error" : text, status)};
  }

  /// Reads both clocks several times; the narrowest pair says best what lies between them.
  Result<ClockOffset> offset_of_host() const {
    constexpr int tries = 20;
    std::int64_t narrowest = INT64_MAX;
    ClockOffset best;
    for (int i = 0; i < tries; ++i) {
      std::uint64_t ns = 0;
      const std::int64_t before = host_time();
      TRY(check("cuptiGetTimestamp", cupti_.get_timestamp(&ns)));
      const std::int64_t wide = host_time() - before;
      if (wide >= narrowest) continue;
      narrowest = wide;
      const auto time = static_cast<std::int64_t>(ns);
      best = {time, before + wide / 2 - time};
    }
    return best;
  }

  /// Converts a time of the library between begin_ and `end` to the host's monotonic clock.
  std::int64_t on_host(std::uint64_t ns, const ClockOffset& end) const {
    const auto time = static_cast<std::int64_t>(ns);
    const double span = static_cast<double>(std::max<std::int64_t>(end.time - begin_.time, 1));
    const double share = static_cast<double>(time - begin_.time) / span;
    const auto drift = static_cast<double>(end.offset - begin_.offset);
    return time + begin_.offset + static_cast<std::int64_t>(share * drift);
  }

  /// Returns how many records the library lost since it was asked last.
  Result<std::size_t> count_dropped() const {
    std::size_t dropped = 0;
    TRY(check("cuptiActivityGetNumDroppedRecords", cupti_.count_dropped(nullptr, 0, &dropped)));
    return dropped;
  }

  void read_record(const std::uint8_t* record, const ClockOffset& end,
                   std::vector<DeviceActivity>& found, std::vector<std::uint32_t>& correlations,
                   std::unordered_map<std::uint32_t, std::uint64_t>& tags) {
    const int kind = field<int>(record, 0);
    if (kind == cupti::kind::external) {
      namespace at = cupti::external_record;
      if (field<int>(record, at::kind) != cupti::external_custom) return;
      tags[field<std::uint32_t>(record, at::correlation)] =
          field<std::uint64_t>(record, at::number);
      return;
    }
    DeviceActivity activity;
    std::size_t node = 0, correlation = 0;  // places
    if (kind == cupti::kind::kernel) {
      namespace at = cupti::kernel_record;
      node = at::node;
      correlation = at::correlation;
      activity.grid = field<std::array<std::uint32_t, 3>>(record, at::grid);
      activity.block = field<std::array<std::uint32_t, 3>>(record, at::block);
      activity.stream = field<std::uint32_t>(record, at::stream);
      const char* const name = field<const char*>(record, at::name);
      activity.name = name == nullptr ? "kernel" : demangled(name);
    } else if (kind == cupti::kind::peer_copy) {
      namespace at = cupti::peer_record;
      node = at::node;
      correlation = at::correlation;
      activity.kind = TraceEventKind::copy;
      activity.bytes = field<std::uint64_t>(record, at::bytes);
      activity.stream = field<std::uint32_t>(record, at::stream);
    } else if (kind == cupti::kind::copy || kind == cupti::kind::fill) {
      namespace at = cupti::move_record;
      node = at::node;
      correlation = at::correlation;
      activity.kind = kind == cupti::kind::copy ? TraceEventKind::copy : TraceEventKind::fill;
      activity.bytes = field<std::uint64_t>(record, at::bytes);
      activity.stream = field<std::uint32_t>(record, at::stream);
    } else {
      return;  // a call: only its external record is needed
    }
    const auto start = field<std::uint64_t>(record, cupti::start_of_activity);
    const auto stop = field<std::uint64_t>(record, cupti::end_of_activity);
    if (start == 0 && stop == 0) {  // the library could not take its time
      ++untimed_;
      return;
    }
    activity.begin = on_host(start, end);
    activity.end = on_host(stop, end);
    activity.node_tag = tag_of_node(field<std::uint64_t>(record, node));
    found.push_back(std::move(activity));
    correlations.push_back(field<std::uint32_t>(record, correlation));
  }

  /// Returns 0 for a node that was captured without a tag, and for 0.
  std::uint64_t tag_of_node(std::uint64_t node) {
    const MutexLock lock(mutex_);
    const auto tagged = node_tags_.find(node);
    return tagged == node_tags_.end() ? 0 : tagged->second;
  }

  std::vector<FilledBuffer> take_filled() {
    const MutexLock lock(mutex_);
    return std::exchange(filled_, {});
  }
  void forget() {
    for (const FilledBuffer& buffer : take_filled()) std::free(buffer.memory);
  }

  static void request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    *bytes = *buffer == nullptr ? 0 : buffer_bytes;
    *most = 0;  // as many records as fit
    CuptiTracer* const tracer = the_tracer;
    if (*buffer == nullptr && tracer != nullptr) tracer->out_of_memory_ = true;
  }
  static void complete_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t,
                              std::size_t valid) {
    CuptiTracer* const tracer = the_tracer;
    if (tracer == nullptr || valid == 0 || !tracer->recording_) return std::free(buffer);
    const MutexLock lock(tracer->mutex_);
    tracer->filled_.push_back({buffer, valid});
  }

  /// Called on the thread that captures or instantiates a graph.
  static void on_callback(void* user, int domain, std::uint32_t id, const void* data) {
    if (domain != cupti::resource_domain || data == nullptr) return;
    CuptiTracer& tracer = *static_cast<CuptiTracer*>(user);
    const auto* const graph = static_cast<const cupti::GraphData*>(
        static_cast<const cupti::ResourceData*>(data)->descriptor);
    if (graph == nullptr) return;
    std::uint64_t node = 0;
    if (tracer.cupti_.graph_node_id(graph->node, &node) != cupti::success) return;
    if (id == cupti::node_created) return tracer.keep_tag(node, tracer.tag_);
    std::uint64_t original = 0;
    if (tracer.cupti_.graph_node_id(graph->original_node, &original) != cupti::success) return;
    tracer.keep_tag(node, tracer.tag_of_node(original));
  }

  void keep_tag(std::uint64_t node, std::uint64_t tag) {
    if (tag == 0) return;
    const MutexLock lock(mutex_);
    node_tags_[node] = tag;
  }

  const cupti::Functions cupti_;
  std::string name_ = "CUPTI";
  void* subscriber_ = nullptr;
  std::vector<int> enabled_;  // kinds
  bool has_buffers_ = false;
  std::atomic<std::uint64_t> tag_ = 0;
  ClockOffset begin_;
  std::size_t untimed_ = 0;  // records without times
  std::atomic<bool> out_of_memory_ = false, recording_ = false;
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> node_tags_ GUARDED_BY(mutex_);
  std::vector<FilledBuffer> filled_ GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<ActivityTracer>> open_cupti_tracer() {
  const SharedLibrary library = TRY(open_cupti_library());
  cupti::Functions functions;
#define ASSAY_CUPTI_BIND(member, symbol, parameters)                                       \
  if (!library.bind(functions.member, {#symbol})) {                                        \
    return Error{ErrorKind::unavailable,                                                   \
                 fmt::format("{} has no function {}: CUPTI of CUDA 12 or newer is needed", \
                             library.path(), #symbol)};                                    \
  }
  ASSAY_CUPTI_FUNCTIONS(ASSAY_CUPTI_BIND)
#undef ASSAY_CUPTI_BIND
  if (the_tracer != nullptr) {
    return Error{ErrorKind::usage, "this process has a tracer of CUPTI already"};
  }
  auto tracer = std::make_unique<CuptiTracer>(functions);
  the_tracer = tracer.get();
  TRY(tracer->begin());
  return std::unique_ptr<ActivityTracer>(std::move(tracer));
}

}  // namespace assay
