// The two kinds of JSON value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/json_fwd.h"

// The class is compiled once, in json.cpp, instead of in each of the hundred files that use it.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace assay {

/// Returns JSON as one line, without a line end. Text from drivers and environment variables may be
/// invalid UTF-8, whose bad bytes become U+FFFD.
std::string json_line(const Json& json);

}  // namespace assay
