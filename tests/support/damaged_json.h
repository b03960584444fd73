// Damages JSON: replaces one value by another that its readers may not expect.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/json.h"
#include "core/random.h"

namespace assay {

/// Replaces a value, or the value around it, by one of another type or size, or removes it.
inline Json damaged(Json json, Random& random) {
  const Json flat = json.flatten();
  auto at = flat.begin();
  std::advance(at, random.next() % flat.size());
  Json::json_pointer place(at.key());
  for (std::uint64_t up = random.next() % 3; up > 0 && !place.parent_pointer().empty(); --up) {
    place.pop_back();
  }
  const std::vector<Json> others = {nullptr,
                                    true,
                                    false,
                                    0,
                                    -1,
                                    7,
                                    std::numeric_limits<std::uint64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min(),
                                    0.5,
                                    1e300,
                                    "",
                                    "a b",
                                    "Sequence",
                                    Json::array(),
                                    Json::array({1, "a"}),
                                    Json::object()};
  const std::uint64_t choice = random.next() % (others.size() + 1);
  Json& parent = json[place.parent_pointer()];
  if (choice < others.size()) {
    json[place] = others[choice];
  } else if (parent.is_object()) {
    parent.erase(place.back());
  } else {
    parent.erase(parent.size() - 1);
  }
  return json;
}

}  // namespace assay
