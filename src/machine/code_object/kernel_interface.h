// The arguments and limits of the kernels in an AMD code object. They come from the metadata that
// the compiler or assembler wrote (note NT_AMDGPU_METADATA of LLVM's AMDGPU backend).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

struct KernelArgument {
  std::string name;                     ///< empty: the metadata has none
  std::uint64_t offset = 0, bytes = 0;  ///< where it lies in the buffer of arguments, and its size
};

/// How a kernel is launched.
struct KernelInterface {
  std::string name;
  std::vector<KernelArgument> arguments;  ///< in the order of the metadata
  std::uint64_t argument_bytes = 0;       ///< size of the buffer of arguments
  std::uint64_t most_threads = 0;         ///< upper limit of the threads in a workgroup
};

/// Reads all kernels of `code_object`, which is not trusted. Error: usage, naming the damage, or
/// that the file is not for AMD GPUs or has no such metadata.
Result<std::vector<KernelInterface>> read_kernel_interfaces(std::string_view code_object);

}  // namespace assay
