// The kernels of a GPU, summed by name, by category and by the matrix product they compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/trace/gemm_kernel.h"
#include "judge/trace/trace_index.h"

namespace assay {

struct KernelGroup {
  std::string name;  ///< of the kernel or the category
  std::string category;
  std::size_t count = 0;
  std::int64_t total = 0, median = 0;  ///< ns
  std::size_t short_count = 0;         ///< number of those shorter than `short_kernel`
  std::int64_t short_total = 0;        ///< ns of these
};

/// A kernel that is shorter, in ns, costs little more than its launch.
constexpr std::int64_t short_kernel = 5'000;

/// Longest total first; equal ones by name. Copies and memsets are left out, except those that
/// older versions of ROCm record as kernels.
std::vector<KernelGroup> kernels_by_name(const TraceIndex& index,
                                         const std::vector<const TraceEvent*>& events);
std::vector<KernelGroup> kernels_by_category(const TraceIndex& index,
                                             const std::vector<const TraceEvent*>& events);

struct GemmGroup {
  GemmProblem2D problem;
  std::string kernel;     ///< the name of the one that took longest
  std::string math;       ///< the type that it computes in: tf32 of stored f32; empty: unknown
  std::string layout;     ///< as axes name it, from the kernel's name, else "TN" for FP8; empty:
                          ///< unknown
  std::size_t count = 0;  ///< products; one may take several kernels
  std::int64_t total = 0, median = 0;  ///< ns
  double rate = 0;                     ///< FLOP/s of the median; 0: unknown
  std::optional<double> efficiency;    ///< see tile_efficiency(); empty: unknown
};

/// The matrix products whose shapes the trace has, longest total first. `units` is the GPU's number
/// of multiprocessors or compute units; 0: unknown.
std::vector<GemmGroup> gemms_by_problem(const TraceIndex& index,
                                        const std::vector<const TraceEvent*>& events,
                                        unsigned units);

/// Returns the middle one, or the lower of the middle two. `values` must not be empty.
std::int64_t lower_median(std::vector<std::int64_t> values);

}  // namespace assay
