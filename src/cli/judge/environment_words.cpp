#include "cli/judge/environment_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/suggest.h"
#include "core/yaml_text.h"

namespace assay::cli {
namespace {

/// How a command-line argument becomes an environment of a plan.
struct Form {
  std::string_view word;      ///< the text before the colon
  std::string_view settings;  ///< keys and values for the plan
  std::string_view value;     ///< the key that takes the text after the colon; empty: none
  std::string_view shown;     ///< placeholder for that text in messages: "IMAGE"
  bool may_lack = false;      ///< whether the colon and the text after it may be left out
};
constexpr std::array<Form, 8> forms = {{
    {"host", "kind: host", "", ""},
    {"docker", "kind: container, engine: docker", "image", "IMAGE"},
    {"podman", "kind: container, engine: podman", "image", "IMAGE"},
    {"apptainer", "kind: container, engine: apptainer", "image", "IMAGE"},
    {"bubblewrap", "kind: container, engine: bubblewrap", "image", "FOLDER", true},
    {"ssh", "kind: ssh", "target", "TARGET"},
    {"vm", "kind: ssh", "target", "TARGET"},
    {"partition", "kind: partition", "visible", "INDEX"},
}};

std::string text_of(const Form& form) {
  if (form.value.empty()) return std::string(form.word);
  const std::string whole = fmt::format("{}:{}", form.word, form.shown);
  return form.may_lack ? fmt::format("{} or {}", form.word, whole) : whole;
}

}  // namespace

std::string environment_words() {
  std::string words;
  for (const Form& form : forms) {
    const bool may_stand_alone = form.value.empty() || form.may_lack;
    if (may_stand_alone) words += fmt::format("{} ", form.word);
    if (!form.value.empty()) words += fmt::format("{}: ", form.word);
  }
  return words;
}

Result<EnvironmentWord> read_environment_word(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string kind = word.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : word.substr(colon + 1);
  const auto form = std::find_if(forms.begin(), forms.end(),
                                 [&](const Form& known) { return known.word == kind; });
  if (form == forms.end()) {
    std::vector<std::string> words, texts;
    for (const Form& known : forms) {
      words.emplace_back(known.word);
      texts.push_back(text_of(known));
    }
    return Error{ErrorKind::usage, fmt::format("\"{}\" is not an environment{}; allowed: {}", word,
                                               did_you_mean(kind, words), fmt::join(texts, ", "))};
  }
  const bool may_be_empty = form->value.empty() || (form->may_lack && colon == std::string::npos);
  const bool may_be_given = !form->value.empty();
  if (value.empty() ? !may_be_empty : !may_be_given) {
    return Error{ErrorKind::usage,
                 fmt::format("\"{}\" is not allowed; write {}", word, text_of(*form))};
  }
  std::string settings(form->settings);
  if (!value.empty()) settings += fmt::format(", {}: {}", form->value, yaml_scalar(value));
  return EnvironmentWord{kind, std::move(settings)};
}

std::string unique_name(const std::string& name, std::map<std::string, int>& uses) {
  const int use = ++uses[name];
  return use == 1 ? name : fmt::format("{}-{}", name, use);
}

std::string plain_name(std::string_view text) {
  std::string name(text);
  for (char& letter : name) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '_';
    if (!plain) letter = '-';
  }
  constexpr std::size_t longest = 100;
  return name.substr(0, longest);
}

}  // namespace assay::cli
