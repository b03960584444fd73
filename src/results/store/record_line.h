// Shortens a record's line before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A record's line after shorten().
struct ShortLine {
  std::string text;         ///< the shortened JSON object
  std::string_view device;  ///< the member "device" with its name, within the line; empty: none
};

/// Returns the JSON object `line` without the readings of the member "telemetry", which are most of
/// its length and not needed for comparisons; the summary stays. It also removes "device" if it
/// equals `known_device`, the ShortLine::device of an earlier line: within a run it usually does.
/// If `line` is not such an object, the result is unchanged or truncated, and parsing it reports
/// the error.
ShortLine shorten(std::string_view line, std::string_view known_device = {});

}  // namespace assay
