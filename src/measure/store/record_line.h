// A record's line made short before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace assay {

struct ShortLine {
  std::string text;         ///< what is left of the JSON object
  std::string_view device;  ///< its member "device" as it stands in the line; empty: there is none
};

/// The JSON object `line` without its members "samples", "seconds", "verification" and "telemetry",
/// which are most of it and nothing that comparing needs, and without "device", if that is
/// `known_device` once more: within a run it always is. Anything that is no such object comes back
/// whole or cut somewhere: parsing what is returned finds out.
ShortLine shorten(std::string_view line, std::string_view known_device = {});

}  // namespace assay
