#include "tune/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace assay {
namespace {

constexpr std::size_t most_candidates = 200;

std::vector<Setting> values_of(std::string_view variable,
                               std::initializer_list<std::string_view> values) {
  std::vector<Setting> settings;
  for (const std::string_view value : values) {
    settings.push_back({std::string(variable), std::string(value)});
  }
  return settings;
}

}  // namespace

bool names_variable(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  return !name.empty() && std::none_of(name.begin(), name.end(),
                                       [](unsigned char c) { return std::islower(c) != 0; });
}

Result<std::vector<Setting>> parse_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("\"{}\" is not allowed; allowed: VARIABLE=VALUE[,VALUE...]", text)};
  }
  std::vector<Setting> settings;
  const std::string_view values = text.substr(equals + 1);
  for (std::size_t begin = 0; begin <= values.size();) {
    const std::size_t end = std::min(values.find(',', begin), values.size());
    settings.push_back(
        {std::string(text.substr(0, equals)), std::string(values.substr(begin, end - begin))});
    begin = end + 1;
  }
  return settings;
}

std::vector<std::vector<Setting>> usual_settings(std::string_view library) {
  if (library == "nccl") {
    return {values_of("NCCL_ALGO", {"Ring", "Tree"}),
            values_of("NCCL_PROTO", {"Simple", "LL", "LL128"}),
            values_of("NCCL_MIN_NCHANNELS", {"8", "16", "32"}),
            values_of("NCCL_MAX_NCHANNELS", {"4", "8", "16"})};
  }
  if (library == "rccl") {
    return {values_of("NCCL_ALGO", {"Ring", "Tree"}),
            values_of("NCCL_PROTO", {"Simple", "LL", "LL128"}),
            values_of("NCCL_MIN_NCHANNELS", {"32", "56", "112"}),
            values_of("RCCL_MSCCL_ENABLE", {"0", "1"})};
  }
  return {};
}

Result<std::vector<Settings>> candidates(const std::vector<std::vector<Setting>>& variables,
                                         bool combined) {
  std::vector<Settings> all = {{}};
  for (const std::vector<Setting>& values : variables) {
    const std::size_t before = combined ? all.size() : 1;
    for (std::size_t i = 0; i < before; ++i) {
      for (const Setting& value : values) {
        Settings more = all[i];
        more.push_back(value);
        all.push_back(std::move(more));
      }
    }
    if (all.size() > most_candidates) {
      return Error{ErrorKind::usage,
                   fmt::format("more than {} settings to try; leave some out", most_candidates)};
    }
  }
  return all;
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += (text.empty() ? "" : " ") + setting.variable;
    if (!setting.value.empty()) text += "=" + setting.value;
  }
  return text.empty() ? "unchanged" : text;
}

}  // namespace assay
