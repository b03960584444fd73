// The names of the two kinds of JSON value, for declarations; core/json.h defines them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// The kind assay writes: members keep their order. Finding one takes time linear in their number.
using Json = nlohmann::ordered_json;
/// The kind for files from elsewhere: members are sorted, so finding one is fast among very many.
using SortedJson = nlohmann::json;

}  // namespace assay
