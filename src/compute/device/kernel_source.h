// The complete text of a kernel file, for compilers that have no include paths.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/embedded.h"
#include "core/result.h"

namespace assay {

/// The file `name`.cu of `files` with every #include of another of `files` replaced by its text,
/// once, and #line directives so that messages name the right file. Includes of other files are
/// left as they are. Error: failed if there is no such kernel.
Result<std::string> complete_source(std::string_view name,
                                    std::span<const EmbeddedFile> files = embedded_kernels());

}  // namespace assay
