// JSON as assay writes it, whose members keep their order.
#pragma once

#include <nlohmann/json.hpp>

// Compiled once, in json.cpp, instead of in each of the hundred files that use them.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace assay {

using Json = nlohmann::ordered_json;

}  // namespace assay
