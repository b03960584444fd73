#include "core/json_text.h"

namespace assay {

Result<Json> parse_json(std::string_view text) {
  constexpr int deepest = 64;
  bool too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > deepest;
    return !too_deep;  // what is discarded is not built
  };
  Json json = Json::parse(text, keep, false);
  if (too_deep) return Error{ErrorKind::usage, "its JSON is nested more than 64 levels deep"};
  if (json.is_discarded()) return Error{ErrorKind::usage, "it is no JSON"};
  return json;
}

}  // namespace assay
