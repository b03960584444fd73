// The C library and processor of a place where assay is to start: the program is mounted or copied
// there, and needs a glibc that is new enough (cmake/Portable.cmake).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "ranks/environments/environment.h"

namespace assay {

/// A shell script, for `sh -c`, that prints what check_c_library() reads: the C library's version,
/// the kind of processor and the name of the system, whatever of these it can find out. It changes
/// nothing.
std::string_view look_at_c_library();

/// Looks at the place where `environment` starts assay. Error: unavailable, if assay cannot start
/// there. A look that fails is no error: the start itself then says why.
Status check_place(const Environment& environment, const LaunchContext& context);

/// Error: unavailable, if `printed`, the output of that script in the environment of this name,
/// says that this program cannot start there: another C library than glibc, one older than `needed`
/// ("2.34"), or another processor than `machine` ("x86_64"). What it does not say is no error.
Status check_c_library(std::string_view printed, std::string_view environment,
                       std::string_view needed, std::string_view machine);

}  // namespace assay
