// Which environment variables explain a difference in performance, and which of those are secrets.
#pragma once

#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

/// Variables that change how GPU runtimes, collectives, BLAS, threads, allocators or frameworks
/// behave, or that tell which container or job this is.
bool is_performance_variable(std::string_view name);

/// Names that speak of a token, key or password: their value is never recorded.
bool is_secret_name(std::string_view name);

/// "name=value" words with the values of secret names shown as "(set)".
std::string hide_secrets(std::string_view words);

/// Those of this process, secrets shown as "(set)".
Variables performance_variables();

}  // namespace assay
