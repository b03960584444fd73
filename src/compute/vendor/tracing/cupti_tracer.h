// The times of kernels, copies and fills of NVIDIA GPUs, by CUDA's own tracing library, CUPTI.
#pragma once

#include <memory>

#include "compute/recording/activity_tracer.h"
#include "core/result.h"

namespace assay {

/// Begins to trace this process's GPUs; destroying the tracer ends that. Graphs must be captured
/// and instantiated afterwards. Error: unavailable if the library or one of its functions is
/// missing, or if another profiler traces this process; usage if a tracer exists already; failed.
Result<std::unique_ptr<ActivityTracer>> open_cupti_tracer();

}  // namespace assay
