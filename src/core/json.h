// The two kinds of JSON value.
#pragma once

#include <nlohmann/json.hpp>

// Compiled once, in json.cpp, instead of in each of the hundred files that use them.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace assay {

/// The kind assay writes: members keep their order. Finding one takes time linear in their number.
using Json = nlohmann::ordered_json;
/// The kind for files from elsewhere: members are sorted, so finding one is fast among very many.
using SortedJson = nlohmann::json;

}  // namespace assay
