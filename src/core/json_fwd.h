// Declares the names of the two kinds of JSON value; core/json.h defines them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay {

/// The kind that assay writes: members keep their order. Finding a member takes time linear in
/// their number.
using Json = nlohmann::ordered_json;
/// The kind for external files: members are sorted, so finding one is fast even among many.
using SortedJson = nlohmann::json;

}  // namespace assay
