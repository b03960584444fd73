// Shortens a record's line before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace assay {

struct ShortLine {
  std::string text;         ///< the shortened JSON object
  std::string_view device;  ///< its member "device" as written in the line; empty: none
};

/// The JSON object `line` without the member "telemetry", which is most of its length and not
/// needed for comparisons, and without "device" if it equals `known_device`: within a run it always
/// does. If `line` is not such an object, the result is unchanged or truncated, and parsing it
/// reports the error.
ShortLine shorten(std::string_view line, std::string_view known_device = {});

}  // namespace assay
