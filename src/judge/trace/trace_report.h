// A trace's report has all that assay says of it: times, kernels, collectives, and what to do.
#pragma once

#include <string>
#include <vector>

#include "judge/trace/collectives.h"
#include "judge/trace/device_times.h"
#include "judge/trace/kernel_groups.h"
#include "results/record/device_facts.h"

namespace assay {

/// Something that would make the program faster.
struct TraceAdvice {
  std::string what;       ///< "capture the step in a graph"
  std::string why;        ///< one sentence with the numbers
  std::int64_t most = 0;  ///< ns that it saves at most
  double share = 0;       ///< of the span
  std::string command;    ///< that tries it; empty: a change of the program
};

struct DeviceReport {
  std::string device;   ///< as the trace names it
  std::string product;  ///< "AMD Instinct MI300X"; empty: unknown
  unsigned units = 0;   ///< multiprocessors or compute units; 0: unknown
  DeviceTimes times;
  std::vector<DeviceStep> steps;
  std::vector<KernelGroup> categories, kernels;
  std::vector<GemmGroup> gemms;
  std::vector<CollectiveGroup> collectives;
  std::vector<TraceAdvice> advice;  ///< largest gain first
};

struct TraceReport {
  std::string file, format;
  std::optional<int> rank, world_size;
  std::vector<DeviceReport> devices;
  /// What the file cannot tell, and what could not be read.
  std::vector<std::string> notes;
};

/// Returns what the trace says of the GPU, in the form that its peak rates are looked up by.
DeviceFacts facts_of(const DeviceReport& device);

TraceReport report_trace(const TraceIndex& index);

/// Returns what to do about waits between ranks; empty if there is nothing. `span` is the time of
/// the traces in ns, of which TraceAdvice::share is.
std::vector<TraceAdvice> rank_advice(const RankComparison& comparison, std::int64_t span);

}  // namespace assay
