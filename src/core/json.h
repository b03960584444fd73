// The two kinds of JSON value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/json_fwd.h"

// What many files use of these classes is compiled once, in json.cpp. Whole classes would take four
// times as long there, because they bring patches and four binary formats, which nobody uses.
#define ASSAY_JSON_MEMBERS(prefix, Value)                                                     \
  prefix template Value::basic_json(Value::initializer_list_t, bool, Value::value_t);         \
  prefix template Value::basic_json(const Value&);                                            \
  prefix template Value::json_value::json_value(Value::value_t);                              \
  prefix template void Value::json_value::destroy(Value::value_t);                            \
  prefix template Value::string_t Value::dump(int, char, bool, Value::error_handler_t) const; \
  prefix template void Value::push_back(Value&&);                                             \
  prefix template void Value::push_back(Value::initializer_list_t);                           \
  prefix template Value::size_type Value::size() const noexcept;                              \
  prefix template Value::const_reference Value::operator[](Value::size_type) const;           \
  prefix template const char* Value::type_name() const noexcept;

ASSAY_JSON_MEMBERS(extern, nlohmann::basic_json<nlohmann::ordered_map>)
ASSAY_JSON_MEMBERS(extern, nlohmann::basic_json<>)

namespace assay {

/// Returns JSON as one line, without a line end. Text from drivers and environment variables may be
/// invalid UTF-8, whose bad bytes become U+FFFD.
std::string json_line(const Json& json);

/// Parses JSON without limits; parse_json (core/json_text.h) has some. What is not JSON becomes a
/// discarded value, for which is_object() and the like are false. A value for which `keep` returns
/// false is left out.
Json try_parse_json(std::string_view text, const Json::parser_callback_t& keep = nullptr);
SortedJson try_parse_sorted_json(std::string_view text,
                                 const SortedJson::parser_callback_t& keep = nullptr);

}  // namespace assay
