// Versions of drivers and libraries, which decide whether advice applies.
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

/// The leading numbers in "6.2.4-120", "rocm-7.0.1" or "5.15.0-generic"; the rest is ignored.
std::optional<Version> parse_version(std::string_view text);
std::string to_string(const Version& version);  ///< as in "6.2.4"

/// The version of the installation in /opt/rocm, else of the newest /opt/rocm-*.
std::optional<Version> read_rocm_version(const Machine& machine);
/// The version of the running kernel.
std::optional<Version> read_kernel_version(const Machine& machine);

}  // namespace assay
