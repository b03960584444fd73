#include "judge/trace/trace_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compute/device/peaks.h"
#include "core/units.h"
#include "judge/trace/nanoseconds_text.h"
#include "judge/trace/recomputed_work.h"

namespace assay {
namespace {

constexpr double nanosecond = 1e-9;

double share_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Collects advice that saves enough to be worth a line.
class Adviser {
 public:
  explicit Adviser(std::int64_t span) : span_(span) {}
  void add(std::string what, std::string why, std::int64_t most, std::string command) {
    constexpr double least_share = 0.01;
    most = std::min(most, span_);  // work on several streams exceeds it
    const double share = share_of(most, span_);
    if (share < least_share) return;
    advice_.push_back({std::move(what), std::move(why), most, share, std::move(command)});
  }
  std::vector<TraceAdvice> sorted() && {
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const TraceAdvice& a, const TraceAdvice& b) { return a.most > b.most; });
    return std::move(advice_);
  }

 private:
  std::int64_t span_;
  std::vector<TraceAdvice> advice_;
};

void advise_launches(const DeviceReport& report, Adviser& adviser) {
  const DeviceTimes& times = report.times;
  if (!is_launch_bound(times)) return;
  adviser.add("capture the step in a graph",
              fmt::format("the GPU waited for the host in {} of {} gaps, {} in all; a larger batch "
                          "gives each launch more work",
                          times.host_late_gaps, times.gaps, nanoseconds_text(times.host_late)),
              times.host_late, "assay run launch");
}

/// Returns whether `assay tune gemm` takes the shape and the batch.
bool can_be_tuned(const GemmProblem2D& problem) {
  constexpr std::uint64_t most_batch = 65'535, longest_side = std::uint64_t{1} << 24;
  return problem.batch <= most_batch && std::max({problem.m, problem.n, problem.k}) <= longest_side;
}

/// GEMMs with known shapes are held against the device's roof: its peak rate, or the time that its
/// memory takes for the operands.
void advise_gemms(const DeviceReport& report, Adviser& adviser) {
  const DeviceFacts facts = facts_of(report);
  const auto bandwidth = peak_memory_bandwidth(facts);
  std::int64_t most = 0, total = 0;
  bool peaks_known = true;
  std::vector<std::string> shapes, layouts;
  // A command has one type and one batch: those of the costliest product.
  std::string type;
  std::uint64_t batch = 1;
  constexpr std::size_t most_shapes = 8;
  for (const GemmGroup& gemm : report.gemms) {
    const auto data_type = parse_data_type(gemm.math);
    if (!data_type) continue;
    const auto peak = peak_compute_rate(facts, *data_type);
    double seconds = peak ? gemm.problem.flops() / peak->rate : 0;
    if (bandwidth) {
      seconds = std::max(seconds, bytes_of(gemm.problem, *data_type) / bandwidth->rate);
    }
    const double ideal = seconds * static_cast<double>(gemm.count) / nanosecond;
    peaks_known = peaks_known && peak;
    total = add_saturated(total, gemm.total);
    if (ideal < static_cast<double>(gemm.total)) {
      most = add_saturated(most, gemm.total - static_cast<std::int64_t>(ideal));
    }
    if (!can_be_tuned(gemm.problem)) continue;
    if (shapes.empty()) {
      type = gemm.math;
      batch = gemm.problem.batch;
    }
    if (type != gemm.math || batch != gemm.problem.batch || shapes.size() == most_shapes) {
      continue;
    }
    shapes.push_back(fmt::format("{}x{}x{}", gemm.problem.m, gemm.problem.n, gemm.problem.k));
    const std::string layout = gemm.layout.empty() ? "any" : gemm.layout;
    if (std::find(layouts.begin(), layouts.end(), layout) == layouts.end()) {
      layouts.push_back(layout);
    }
  }
  if (!shapes.empty()) {
    adviser.add(
        "tune these matrix products",
        fmt::format("they take {}; the gain is what is above the roof of the data sheet{}",
                    nanoseconds_text(total), peaks_known ? "" : ", which is not known for all"),
        most,
        fmt::format("assay tune gemm shape={} dtype={} layout={}{}", fmt::join(shapes, ","), type,
                    fmt::join(layouts, ","), batch > 1 ? fmt::format(" batch={}", batch) : ""));
    return;
  }
  for (const KernelGroup& group : report.categories) {
    if (group.name != "gemm" || !report.gemms.empty()) continue;
    adviser.add("record shapes (record_shapes=True), then tune the matrix products",
                fmt::format("matrix products take {}, and the trace has no shapes of them",
                            nanoseconds_text(group.total)),
                group.total, "");
  }
}

void advise_collectives(const DeviceReport& report, Adviser& adviser) {
  const DeviceTimes& times = report.times;
  std::string command;
  if (!report.collectives.empty()) {
    const TracedCollective& shape = report.collectives.front().shape;
    constexpr std::uint32_t most_ranks = 8;  // of one host
    if (shape.bytes > 0 && bus_factor(shape) && shape.ranks <= most_ranks) {
      command = fmt::format(
          "assay tune collective op={} size={}{} --ranks {} "
          "NCCL_MIN_NCHANNELS=32,64,112",
          shape.operation, format_size(shape.bytes),
          shape.type.empty() ? "" : " dtype=" + shape.type, shape.ranks);
    }
  }
  adviser.add(
      "overlap the collectives with computing, or make fewer and larger ones (buckets)",
      fmt::format("{} of {} in collectives nothing was computed",
                  nanoseconds_text(times.exposed_collective), nanoseconds_text(times.collective)),
      times.exposed_collective, std::move(command));
}

void advise_rest(const DeviceReport& report, Adviser& adviser) {
  const DeviceTimes& times = report.times;
  adviser.add("copy from pinned memory, on a stream of its own",
              fmt::format("in {} of copies between the host and the GPU nothing else ran",
                          nanoseconds_text(times.exposed_host_copy)),
              times.exposed_host_copy, "assay run copy");
  std::int64_t layout = 0, conv = 0, short_total = 0;
  std::size_t short_count = 0;
  for (const KernelGroup& group : report.kernels) {
    if (group.category == "layout") layout = add_saturated(layout, group.total);
    if (group.category == "conv") conv = add_saturated(conv, group.total);
    if (group.category != "gemm" && group.category != "collective" && group.category != "copy") {
      short_total = add_saturated(short_total, group.short_total);
      short_count += group.short_count;
    }
  }
  adviser.add("keep tensors in the layout that the convolutions want (channels_last)",
              fmt::format("kernels that only change layouts take {}", nanoseconds_text(layout)),
              layout, "");
  adviser.add(
      "tune the convolutions",
      fmt::format("convolutions take {}; the gain is at most a part of it", nanoseconds_text(conv)),
      conv, "assay tune conv");
  adviser.add("fuse short kernels (torch.compile), or raise the batch",
              fmt::format("{} kernels shorter than 5 us take {}", short_count,
                          nanoseconds_text(short_total)),
              short_total, "");
}

void advise_recomputation(std::int64_t time, Adviser& adviser) {
  adviser.add("keep results for the backward pass, if the memory suffices (recompute=none)",
              fmt::format("kernels of the forward pass ran again in the backward pass for {}",
                          nanoseconds_text(time)),
              time, "");
}

/// Returns what the trace says of this GPU. ROCm numbers the GPUs of events in another way than the
/// list of GPUs, so a list of equal GPUs describes all.
TraceDevice described(const Timeline& timeline, const std::string& name) {
  const auto& devices = timeline.devices;
  const auto known = devices.find(name);
  if (known != devices.end()) return known->second;
  const bool equal = std::all_of(devices.begin(), devices.end(), [&](const auto& one) {
    return one.second.name == devices.begin()->second.name;
  });
  return equal && !devices.empty() ? devices.begin()->second : TraceDevice();
}

void add_notes(const TraceIndex& index, TraceReport& report) {
  const Timeline& timeline = index.timeline();
  report.notes = timeline.notes();
  if (index.devices().empty()) {
    report.notes.push_back(
        "the trace has no work of a GPU, so nothing can be said of its time; record with "
        "activities=[CPU, CUDA]");
  }
  for (const DeviceReport& device : report.devices) {
    const DeviceTimes& times = device.times;
    const auto note = [&](std::string sentence) {
      report.notes.push_back(fmt::format("GPU {}: {}", device.device, std::move(sentence)));
    };
    if (index.timeline().is_own) {
      if (times.recorder_pauses > 0) {
        note(
            fmt::format("between steps the recorder read their times for {}, which is no idle time "
                        "of the program",
                        nanoseconds_text(times.recorder_pauses)));
      }
    } else if (times.from_graphs > 0) {
      note(
          fmt::format("{} of {} events come from graph launches, which do not say what launched "
                      "each of them, nor shapes",
                      times.from_graphs, times.kernels + times.copies));
    }
    if (!index.has_calls()) {
      note(
          "the trace has no calls of the host, so idle time has no known cause; record them, too, "
          "with activities=[CPU, CUDA] or rocprofv3's --hip-trace");
    } else if (times.unknown > times.span / 100) {
      note(
          fmt::format("work after {} of idle time was launched before the recording began, so its "
                      "cause is unknown",
                      nanoseconds_text(times.unknown)));
    }
    if (times.same_stream_overlaps > 0) {
      note(fmt::format("{} events began before the one before them on the same stream ended",
                       times.same_stream_overlaps));
    }
    if (times.implausible > 0) {
      note(
          fmt::format("{} events last so long that several others began on the same stream before "
                      "they ended; their durations may be wrong",
                      times.implausible));
    }
    const bool amd = device.product.find("AMD") != std::string::npos &&
                     device.product.find("EPYC") == std::string::npos;
    if (amd && times.gaps > 0) {
      note(
          "ROCm counts the start of a queued kernel as part of the kernel; idle time and short "
          "kernels cannot be compared with NVIDIA's");
    }
  }
  // Two processes with one GPU's number cannot be told apart.
  std::set<TextId> processes;
  for (const TraceEvent& event : timeline.events()) {
    if (event.kind == TraceEventKind::call) processes.insert(timeline.lane(event.lane).process);
  }
  const bool told_apart = timeline.is_own || timeline.format == "nsys" ||
                          timeline.format == "rocpd" || timeline.format == "rocprofv3-json";
  if (processes.size() > 1 && !told_apart) {
    report.notes.push_back(
        fmt::format("{} processes are in one file; correlations of one may be taken for those of "
                    "another, so causes of idle time are doubtful",
                    processes.size()));
  }
}

}  // namespace

DeviceFacts facts_of(const DeviceReport& device) {
  DeviceFacts facts;
  facts.name = device.product;
  facts.multiprocessors = static_cast<int>(device.units);
  return facts;
}

TraceReport report_trace(const TraceIndex& index) {
  const Timeline& timeline = index.timeline();
  TraceReport report;
  report.file = timeline.file;
  report.format = timeline.format;
  report.rank = timeline.rank;
  report.world_size = timeline.world_size;
  for (const auto& [name, events] : index.devices()) {
    DeviceReport device;
    device.device = name;
    const TraceDevice known = described(timeline, name);
    device.product = known.name;
    device.units = known.units;
    device.times = device_times(index, events);
    device.steps = device_steps(index, events);
    device.categories = kernels_by_category(index, events);
    device.kernels = kernels_by_name(index, events);
    device.gemms = gemms_by_problem(index, events, device.units);
    device.collectives = collectives_of(index, events);
    Adviser adviser(device.times.span);
    advise_launches(device, adviser);
    advise_gemms(device, adviser);
    advise_collectives(device, adviser);
    advise_rest(device, adviser);
    advise_recomputation(recomputed_time(index, name, events), adviser);
    device.advice = std::move(adviser).sorted();
    report.devices.push_back(std::move(device));
  }
  add_notes(index, report);
  return report;
}

std::vector<TraceAdvice> rank_advice(const RankComparison& comparison, std::int64_t span) {
  Adviser adviser(span);
  if (!comparison.ranks.empty() && comparison.problem.empty()) {
    const auto late =
        std::max_element(comparison.ranks.begin(), comparison.ranks.end(),
                         [](const RankWait& a, const RankWait& b) { return a.caused < b.caused; });
    adviser.add(fmt::format("find out why rank {} is late", late->rank),
                fmt::format("the others waited for it in {} of {} collectives, up to {} in all",
                            late->came_last, comparison.matched, nanoseconds_text(late->caused)),
                late->caused, "assay doctor");
  }
  return std::move(adviser).sorted();
}

}  // namespace assay
