#include "advise/tune/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "core/utf8.h"

namespace assay {
namespace {

Parameter usually_unset(std::string_view name, std::initializer_list<const char*> values) {
  Parameter parameter{std::string(name), {std::string(unset)}};
  parameter.values.insert(parameter.values.end(), values.begin(), values.end());
  return parameter;
}

void add_value(Parameter& parameter, std::string value) {
  auto& values = parameter.values;
  if (std::count(values.begin(), values.end(), value) == 0) values.push_back(std::move(value));
}

}  // namespace

bool names_variable(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return !name.empty() && std::none_of(name.begin(), name.end(),
                                       [](unsigned char c) { return std::islower(c) != 0; });
}

Result<Parameter> parse_parameter(std::string_view text) {
  const std::size_t equals = text.find('=');
  const bool is_text = valid_utf8(text) == text;  // records only hold valid UTF-8
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size() || !is_text) {
    return Error{
        ErrorKind::usage,
        fmt::format("\"{}\" is not allowed; allowed: VARIABLE=VALUE[,VALUE...]", valid_utf8(text))};
  }
  Parameter parameter = usually_unset(text.substr(0, equals), {});
  const std::string_view values = text.substr(equals + 1);
  for (std::size_t begin = 0; begin <= values.size();) {
    const std::size_t end = std::min(values.find(',', begin), values.size());
    add_value(parameter, std::string(values.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parameter;
}

Result<Parameter> parse_server_parameter(std::string_view text) {
  const bool has_value = text.find('=') != std::string_view::npos;
  if (has_value || names_variable(text)) return parse_parameter(text);
  return usually_unset(text, {""});
}

std::vector<Parameter> merged(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> all;
  for (const Parameter& one : parameters) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Parameter& other) { return other.name == one.name; });
    if (same == all.end()) {
      all.push_back(one);
    } else {
      for (const std::string& value : one.values) add_value(*same, value);
    }
  }
  return all;
}

std::vector<Parameter> usual_parameters(std::string_view library) {
  if (library == "nccl") {
    return {usually_unset("NCCL_ALGO", {"Ring", "Tree"}),
            usually_unset("NCCL_PROTO", {"Simple", "LL", "LL128"}),
            usually_unset("NCCL_MIN_NCHANNELS", {"8", "16", "32"}),
            usually_unset("NCCL_MAX_NCHANNELS", {"4", "8", "16"})};
  }
  if (library == "rccl") {
    return {usually_unset("NCCL_ALGO", {"Ring", "Tree"}),
            usually_unset("NCCL_PROTO", {"Simple", "LL", "LL128"}),
            usually_unset("NCCL_MIN_NCHANNELS", {"32", "56", "112"}),
            usually_unset("RCCL_MSCCL_ENABLE", {"0", "1"})};
  }
  return {};
}

}  // namespace assay
