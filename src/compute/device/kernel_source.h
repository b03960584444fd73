// The complete text of a kernel file, for compilers that have no include paths.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedded.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay {

/// Kernel files of a program other than assay, such as its tests, beside embedded_kernels().
using KernelFileRegistry = Registry<EmbeddedFile>;

/// embedded_kernels() and those registered.
std::vector<EmbeddedFile> all_kernel_files();

/// The file `name`.cu of `files` with every #include of another of `files` replaced by its text,
/// once, and #line directives so that messages name the right file. Includes of other files are
/// left as they are. Error: failed if there is no such kernel.
Result<std::string> complete_source(std::string_view name,
                                    std::span<const EmbeddedFile> files = all_kernel_files());

}  // namespace assay
