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

/// Registers kernel files of programs other than assay, such as its tests, in addition to
/// embedded_kernels().
using KernelFileRegistry = Registry<EmbeddedFile>;

/// Returns embedded_kernels() and the registered files.
std::vector<EmbeddedFile> all_kernel_files();

/// Returns the file `name`.cu of `files`, with the first #include of each other file of `files`
/// replaced by that file's text, and with #line directives so that messages name the right file.
/// Later includes of these files and every #pragma once are removed; other includes stay. Error:
/// failed if there is no such file.
Result<std::string> complete_source(std::string_view name,
                                    std::span<const EmbeddedFile> files = all_kernel_files());

}  // namespace assay
