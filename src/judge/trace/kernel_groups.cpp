#include "judge/trace/kernel_groups.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/data_type.h"

namespace assay {
namespace {

struct Durations {
  std::vector<std::int64_t> all;
  std::int64_t total = 0;
  void add(std::int64_t duration) {
    all.push_back(duration);
    total = add_saturated(total, duration);
  }
};

/// Returns whether several workgroups share a tile, so that tiles do not say how many there are.
/// NVIDIA's names say it in a word; Tensile's have a count of parts, or "_SK3" for Stream-K.
bool splits_k(std::string_view name) {
  for (const std::string_view mark : {"splitK", "SplitK", "splitk", "_GSU", "_SK"}) {
    const std::size_t at = name.find(mark);
    if (at == name.npos) continue;
    if (mark.front() != '_') return true;
    const std::string_view parts = name.substr(at + mark.size()).substr(0, 2);
    const bool one =
        parts.starts_with('1') && (parts.size() < 2 || parts[1] < '0' || parts[1] > '9');
    const bool any = !parts.empty() && parts[0] >= '1' && parts[0] <= '9';
    if (any && (!one || mark == "_SK")) return true;
  }
  return false;
}

/// Returns the layout in the name of a product in assay's own traces: "TN" in
/// "gemm m=64 n=64 k=64 bf16*bf16->bf16 TN". Other names give nothing.
std::string_view own_layout(std::string_view kernel) {
  const std::size_t arrow = kernel.find("->");
  const std::size_t space = arrow == kernel.npos ? arrow : kernel.find(' ', arrow);
  if (!kernel.starts_with("gemm ") || space == kernel.npos) return {};
  const std::string_view layout = kernel.substr(space + 1);
  for (const std::string_view known : {"NN", "NT", "TN", "TT"}) {
    if (layout == known || layout.starts_with(std::string(known) + " ")) return known;
  }
  return {};
}

template <typename KeyOf>
std::vector<KernelGroup> grouped(const TraceIndex& index,
                                 const std::vector<const TraceEvent*>& events,
                                 const KeyOf& key_of) {
  std::map<std::string_view, std::pair<const TraceEvent*, Durations>> groups;
  for (const TraceEvent* event : events) {
    if (event->kind != TraceEventKind::kernel && event->kind != TraceEventKind::graph) continue;
    auto& [first, durations] = groups[key_of(*event)];
    if (first == nullptr) first = event;
    durations.add(event->duration);
  }
  std::vector<KernelGroup> sorted;
  for (auto& [name, group] : groups) {
    KernelGroup& one = sorted.emplace_back();
    one.name = name;
    one.category = index.category_of(*group.first);
    one.count = group.second.all.size();
    one.total = group.second.total;
    for (const std::int64_t duration : group.second.all) {
      if (duration >= short_kernel) continue;
      ++one.short_count;
      one.short_total += duration;
    }
    one.median = lower_median(std::move(group.second.all));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const KernelGroup& a, const KernelGroup& b) { return a.total > b.total; });
  return sorted;
}

}  // namespace

std::int64_t lower_median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<KernelGroup> kernels_by_name(const TraceIndex& index,
                                         const std::vector<const TraceEvent*>& events) {
  return grouped(index, events, [&](const TraceEvent& event) { return index.name_of(event); });
}

std::vector<KernelGroup> kernels_by_category(const TraceIndex& index,
                                             const std::vector<const TraceEvent*>& events) {
  return grouped(index, events, [&](const TraceEvent& event) { return index.category_of(event); });
}

std::vector<GemmGroup> gemms_by_problem(const TraceIndex& index,
                                        const std::vector<const TraceEvent*>& events,
                                        unsigned units) {
  struct Operation {
    const TraceEvent* event = nullptr;
    std::int64_t duration = 0;
    const TraceEvent* longest = nullptr;
  };
  // A product may take several kernels, such as one that adds the parts of a split K.
  std::vector<Operation> operations;
  std::unordered_map<const TraceEvent*, std::size_t> places;
  for (const TraceEvent* event : events) {
    if (event->kind != TraceEventKind::kernel || index.category_of(*event) != "gemm") continue;
    const TraceEvent* operation = index.operation_of(*event);
    // In assay's own traces the kernel itself has the shapes.
    if (operation == nullptr && index.timeline().detail(event->detail).shapes != 0) {
      operation = event;
    }
    if (operation == nullptr) continue;
    const auto [at, is_new] = places.emplace(operation, operations.size());
    if (is_new) operations.push_back({operation, 0, event});
    Operation& product = operations[at->second];
    product.duration = add_saturated(product.duration, event->duration);
    if (event->duration > product.longest->duration) product.longest = event;
  }
  struct Found {
    Durations durations;
    const TraceEvent* longest = nullptr;
  };
  std::map<GemmProblem2D, Found> problems;
  const Timeline& timeline = index.timeline();
  for (const Operation& product : operations) {
    const EventDetail& detail = timeline.detail(product.event->detail);
    const bool is_own = product.event->kind == TraceEventKind::kernel;
    const auto problem = gemm_problem(is_own ? own_product : index.name_of(*product.event),
                                      timeline.text(detail.shapes), timeline.text(detail.types));
    if (!problem) continue;
    Found& found = problems[*problem];
    found.durations.add(product.duration);
    if (found.longest == nullptr || product.longest->duration > found.longest->duration) {
      found.longest = product.longest;
    }
  }
  std::vector<GemmGroup> groups;
  for (auto& [problem, found] : problems) {
    GemmGroup group;
    group.problem = problem;
    group.kernel = index.name_of(*found.longest);
    group.math = problem.type;
    if (const auto kernel = parse_gemm_kernel(group.kernel)) {
      group.layout = kernel->transposes;  // axes name it as BLAS libraries do
      if (problem.type == "f32" && kernel->types == "tf32") group.math = kernel->types;
      if (!splits_k(group.kernel)) {
        group.efficiency = tile_efficiency(*kernel, problem, units);
      }
    }
    if (group.layout.empty()) group.layout = own_layout(group.kernel);
    const auto type = parse_data_type(group.math);
    // Libraries compute FP8 in this layout; many have no other.
    if (group.layout.empty() && type && is_fp8(*type)) group.layout = "TN";
    group.count = found.durations.all.size();
    group.total = found.durations.total;
    group.median = lower_median(std::move(found.durations.all));
    if (group.median > 0) group.rate = problem.flops() / (static_cast<double>(group.median) / 1e9);
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const GemmGroup& a, const GemmGroup& b) { return a.total > b.total; });
  return groups;
}

}  // namespace assay
