// Units and differences as JSON: in results, in references, and between ranks.
#pragma once

#include <string>
#include <string_view>

#include "advise/health/sdc.h"

namespace assay::health {

Json to_json(const SdcUnit& unit);
/// Adds the operations and their checksums to to_json(), as references and other ranks need them.
Json with_trail(const SdcUnit& unit);
Json to_json(const SdcDifference& difference);

Json choices_json(const std::vector<KeptChoice>& choices);

/// These functions read what those above wrote. Error: usage, naming the field that is wrong.
Result<std::vector<KeptChoice>> choices_from(const Json& json);
Result<SdcUnit> unit_from(const Json& json);
Result<SdcDifference> difference_from(const Json& json);

/// Convert to text such as "0x3c00000000000000" and back; from_hex() returns nullopt for other
/// texts.
std::string hex_of(std::uint64_t value);
std::optional<std::uint64_t> from_hex(std::string_view text);

}  // namespace assay::health
