// The two kinds of JSON value.
#pragma once

#include <nlohmann/json.hpp>

// Compiled once, in json.cpp, instead of in each of the hundred files that use them.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace assay {

/// As assay writes it: members keep their order. To find one takes as long as there are members.
using Json = nlohmann::ordered_json;
/// Members are sorted, and found at once among however many a stranger wrote.
using SortedJson = nlohmann::json;

}  // namespace assay
