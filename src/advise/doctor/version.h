// The versions of ROCm and the Linux kernel, on which some advice depends.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "machine/system/machine.h"

namespace assay {

struct Version {
  int major = 0, minor = 0, patch = 0;
  // clang-tidy mistakes the 0 in the generated comparison for a null pointer.
  auto operator<=>(const Version&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Returns the first number in `text` and up to two more behind it with dots between them, as in
/// "6.2.4-120", "rocm-7.0.1" or "5.15.0-generic". Missing and too large numbers are 0. nullopt if
/// `text` has no digit.
std::optional<Version> parse_version(std::string_view text);
std::string to_string(const Version& version);  ///< as in "6.2.4"

/// Returns the version in /opt/rocm/.info/version, else the newest in rocm-* and core-* of /opt and
/// /opt/rocm; nullopt if there is none.
std::optional<Version> read_rocm_version(const Machine& machine);
/// Returns the version of the running Linux kernel; nullopt if it cannot be read.
std::optional<Version> read_kernel_version(const Machine& machine);

}  // namespace assay
