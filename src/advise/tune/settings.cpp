#include "advise/tune/settings.h"

#include "advise/tune/parameter.h"

namespace assay {

std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const Setting& setting : settings) {
    if (names_variable(setting.variable)) variables.emplace_back(setting.variable, setting.value);
  }
  return variables;
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
