// Writes times of traces for people.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// "3.50 ms"; "0" for less than a nanosecond.
std::string nanoseconds_text(double ns);
std::string nanoseconds_text(std::int64_t ns);

/// "+3.50 ms", "-12.0 us"; "0" for less than a nanosecond.
std::string nanoseconds_change(double ns);

}  // namespace assay
