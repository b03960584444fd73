// Which variable hides GPUs from the program in an environment.
#pragma once

#include <string_view>

namespace assay {

/// Returns the variable that names the GPUs a program sees. ROCR_VISIBLE_DEVICES hides the others
/// from every ROCm runtime; HIP_VISIBLE_DEVICES would only renumber them.
constexpr std::string_view visible_gpus_variable(bool amd) {
  return amd ? "ROCR_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
}

}  // namespace assay
