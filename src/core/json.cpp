#include "core/json.h"

ASSAY_JSON_MEMBERS(, nlohmann::basic_json<nlohmann::ordered_map>)
ASSAY_JSON_MEMBERS(, nlohmann::basic_json<>)

namespace assay {

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json try_parse_json(std::string_view text, const Json::parser_callback_t& keep) {
  return Json::parse(text, keep, false);
}

SortedJson try_parse_sorted_json(std::string_view text, const SortedJson::parser_callback_t& keep) {
  return SortedJson::parse(text, keep, false);
}

}  // namespace assay
