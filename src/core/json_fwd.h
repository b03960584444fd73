// Declares the names of the two kinds of JSON value; core/json.h defines them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// The kind that assay writes: members keep their order. Finding a member takes time linear in
/// their number.
using Json = nlohmann::ordered_json;
/// The kind for objects with very many members, as tokenizers and indices of weights have: members
/// are sorted, so finding one is fast.
using SortedJson = nlohmann::json;

}  // namespace assay
