#include "core/json_text.h"

#include <array>
#include <cstddef>

namespace assay {
namespace {

constexpr int deepest = 64;
// Each member of a Json is compared with all before it: so many take some seconds.
constexpr std::size_t most_members = 50'000;

}  // namespace

Result<Json> parse_json(std::string_view text) {
  bool too_deep = false, too_many = false;
  std::array<std::size_t, deepest + 2> members = {};
  const auto keep = [&](int depth, Json::parse_event_t event, Json&) {
    too_deep = too_deep || depth > deepest;
    if (too_deep || too_many) return false;  // what is discarded is not built
    std::size_t& count = members[static_cast<std::size_t>(depth)];
    // An object's members are one level below it.
    if (event == Json::parse_event_t::object_start)
      members[static_cast<std::size_t>(depth) + 1] = 0;
    if (event == Json::parse_event_t::key) too_many = ++count > most_members;
    return !too_many;
  };
  Json json = Json::parse(text, keep, false);
  if (too_deep) return Error{ErrorKind::usage, "its JSON is nested more than 64 levels deep"};
  if (too_many)
    return Error{ErrorKind::usage, "one of its JSON's objects has more than 50000 members"};
  if (json.is_discarded()) return Error{ErrorKind::usage, "it is no JSON"};
  return json;
}

}  // namespace assay
