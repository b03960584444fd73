// The errors of HIP by name.
#pragma once

#include <hip/hip_runtime_api.h>

#include <optional>
#include <string_view>

namespace mi300x::runtime {

std::optional<hipError_t> error_of_name(std::string_view name);

}  // namespace mi300x::runtime
