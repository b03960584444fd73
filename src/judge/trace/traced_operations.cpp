#include "judge/trace/traced_operations.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "judge/trace/kernel_category.h"

namespace assay {
namespace {

/// A sum that is known only if each of its parts is.
struct KnownSum {
  double sum = 0;
  bool known = true;
  void add(double part) {
    sum += part;
    known = known && part > 0;
  }
  std::optional<double> rate(std::int64_t ns) const {
    if (!known || ns <= 0) return std::nullopt;
    return sum / (static_cast<double>(ns) * 1e-9);
  }
};

struct OperationSum {
  std::string category;
  std::vector<std::int64_t> durations;
  std::int64_t total = 0;
  KnownSum flops, bytes;
};

double bytes_moved(const TraceIndex& index, const TraceEvent& event, WorkKind kind) {
  const EventDetail& detail = index.timeline().detail(event.detail);
  if (kind == WorkKind::copy) return static_cast<double>(detail.bytes);
  if (kind != WorkKind::collective) return 0;
  if (detail.bus_bytes > 0) return static_cast<double>(detail.bus_bytes);
  const TracedCollective shape = collective_shape(index, event);
  return static_cast<double>(shape.bytes) * bus_factor(shape).value_or(0);
}

/// Returns the operation whose shapes say what the kernel computes; null if there is none. In
/// assay's own traces the kernel itself has the shapes.
const TraceEvent* product_of(const TraceIndex& index, const TraceEvent& event) {
  if (index.category_of(event) != "gemm") return nullptr;
  if (const TraceEvent* operation = index.operation_of(event)) return operation;
  return index.timeline().detail(event.detail).shapes != 0 ? &event : nullptr;
}

double flops_of(const TraceIndex& index, const TraceEvent& event) {
  const Timeline& timeline = index.timeline();
  const std::uint64_t own = timeline.detail(event.detail).flops;
  if (own > 0) return static_cast<double>(own);
  const TraceEvent* const operation = product_of(index, event);
  if (operation == nullptr) return 0;
  const EventDetail& detail = timeline.detail(operation->detail);
  const auto problem = gemm_problem(operation == &event ? own_product : index.name_of(*operation),
                                    timeline.text(detail.shapes), timeline.text(detail.types));
  return problem ? problem->flops() : 0;
}

using OperationSums = std::map<std::string, OperationSum>;

void add_work(const StepOfGpu& step, OperationSums& sums) {
  const TraceIndex& index = *step.index;
  const std::vector<const TraceEvent*> events = work_of(step);
  // Where several kernels compute one product, none of them computes all of it.
  std::unordered_map<const TraceEvent*, std::size_t> kernels_of;
  for (const TraceEvent* event : events) ++kernels_of[product_of(index, *event)];
  for (const TraceEvent* event : events) {
    const WorkKind kind = work_kind_of(index, *event);
    const TraceEvent* const product = product_of(index, *event);
    OperationSum& sum = sums[std::string(plain_kernel_name(index.name_of(*event)))];
    sum.category = kind == WorkKind::copy ? "copy" : index.category_of(*event);
    sum.durations.push_back(event->duration);
    sum.total = add_saturated(sum.total, event->duration);
    const bool divided = product != nullptr && kernels_of[product] > 1;
    sum.flops.add(divided || kind != WorkKind::compute ? 0 : flops_of(index, *event));
    sum.bytes.add(bytes_moved(index, *event, kind));
  }
}

}  // namespace

std::vector<TracedOperation> traced_operations(const ShownStep& step) {
  OperationSums sums;
  double time = 0;
  for (const StepOfGpu& gpu : step.gpus) {
    add_work(gpu, sums);
    time += static_cast<double>(gpu.times.span);
  }
  std::vector<TracedOperation> costs;
  for (auto& [name, sum] : sums) {
    TracedOperation& cost = costs.emplace_back();
    cost.name = name;
    cost.category = sum.category;
    cost.count = sum.durations.size();
    cost.total = sum.total;
    cost.share = time > 0 ? static_cast<double>(sum.total) / time : 0;
    cost.flop_rate = sum.flops.rate(sum.total);
    cost.byte_rate = sum.bytes.rate(sum.total);
    cost.median = lower_median(std::move(sum.durations));
  }
  std::stable_sort(
      costs.begin(), costs.end(),
      [](const TracedOperation& a, const TracedOperation& b) { return a.total > b.total; });
  return costs;
}

}  // namespace assay
