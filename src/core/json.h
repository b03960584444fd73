// The two kinds of JSON value.
#pragma once

#include <nlohmann/json.hpp>

#include "core/json_fwd.h"

// The class is compiled once, in json.cpp, instead of in each of the hundred files that use it.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
