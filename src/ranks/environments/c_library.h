// Checks the C library and processor of an environment in which assay is to start. The program is
// mounted or copied there, and needs a glibc that is new enough (cmake/Portable.cmake).
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "ranks/environments/environment.h"

namespace assay {

/// Returns a shell script, for `sh -c`, that prints what check_c_library() reads: the C library's
/// version, the processor's architecture and the system's name, as far as it can find them out. It
/// changes nothing.
std::string_view look_at_c_library();

/// Runs that script where `environment` starts assay. Error: unavailable, if assay cannot start
/// there; as Environment::look(). A script that fails is no error: the start itself then reports
/// the reason.
Status check_place(const Environment& environment, const LaunchContext& context);

/// Checks `printed`, the output of that script in the environment of this name. Error: unavailable,
/// if this program cannot start there: a C library other than glibc, one older than `needed`
/// ("2.34"), or a processor other than `machine` ("x86_64"). Missing information is no error.
Status check_c_library(std::string_view printed, std::string_view environment,
                       std::string_view needed, std::string_view machine);

}  // namespace assay
