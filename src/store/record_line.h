// A record's line made short before it is parsed.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// The JSON object `line` without its members "samples", "seconds", "verification" and "telemetry":
/// most of it, and nothing that comparing needs. Anything that is no such object comes back whole
/// or cut somewhere: parsing what is returned finds out.
std::string without_samples(std::string_view line);

}  // namespace assay
