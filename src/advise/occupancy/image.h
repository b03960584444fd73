// Finds the GPU code in a file: all images with their kernels, wherever they are in the file.
#pragma once

#include <string>
#include <vector>

#include "advise/occupancy/kernel_use.h"
#include "core/result.h"
#include "machine/code_object/bytes.h"

namespace assay::occupancy {

enum class ImageKind { amd_object, amd_assembly, cubin, ptx };

struct CodeImage {
  ImageKind kind = ImageKind::amd_object;
  std::string arch;    ///< "gfx942", "sm_90"
  std::string target;  ///< the target as written in the file:
                       ///< "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  std::vector<KernelUse> kernels;
  std::string code;                  ///< bytes or text of the image
  std::vector<std::string> remarks;  ///< what is unknown, and why
};

/// Returns the name for the screen: "AMD code object", "PTX".
std::string_view name_of(ImageKind kind);

/// Finds every image in a file of a known kind: AMD code objects and assembly, cubins, PTX, offload
/// bundles (plain or compressed), NVIDIA fat binaries, and host programs that contain these. Code
/// in them that has no registers, such as SPIR-V, and PTX without a kernel are passed over. There
/// is at least one image. Error: usage, one line that says what is wrong with the file; exhausted,
/// without memory to decompress it.
Result<std::vector<CodeImage>> read_images(std::string_view file);

}  // namespace assay::occupancy
