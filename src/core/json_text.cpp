#include "core/json_text.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "core/json.h"

namespace assay {
namespace {

constexpr int deepest = 64;

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t most_members) {
  bool too_deep = false, too_many = false;
  std::array<std::size_t, deepest + 2> members = {};  // members of the open object at each depth
  const auto count = [&](int depth, Json::parse_event_t event, Json&) {
    too_deep = too_deep || depth > deepest;
    if (too_deep) return false;
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) members[level + 1] = 0;
    if (event == Json::parse_event_t::key) too_many = too_many || ++members[level] > most_members;
    return false;  // keep no values: this pass only counts
  };
  [[maybe_unused]] const Json nothing = Json::parse(text, count, false);
  if (too_deep) return Error{ErrorKind::usage, "its JSON is nested more than 64 levels deep"};
  if (too_many) {
    return Error{ErrorKind::usage,
                 fmt::format("one of its JSON's objects has more than {} members", most_members)};
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Error{ErrorKind::usage, "it is not JSON"};
  return json;
}

}  // namespace assay
