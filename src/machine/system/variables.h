// Which environment variables explain a difference in performance, and which of those are secrets.
#pragma once

#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

/// Variables that change how GPU runtimes, collectives, BLAS, threads, allocators or frameworks
/// behave, or that identify the container or job.
bool is_performance_variable(std::string_view name);

/// Names that suggest a token, key or password: their values are never recorded.
bool is_secret_name(std::string_view name);

/// "name=value" words with the values of secret names shown as "(set)".
std::string hide_secrets(std::string_view words);

/// The performance variables of this process, secrets shown as "(set)".
Variables performance_variables();

}  // namespace assay
