#include "core/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>
#include <vector>

#include "core/json.h"
#include "core/suggest.h"
#include "core/units.h"

namespace assay {
namespace {

/// Copies yaml-cpp's nodes, which aliases share, into values that share nothing.
class Copier {
 public:
  explicit Copier(std::string_view file) : file_(file) {}

  /// `depth` is the number of lists and maps around `node`; it bounds a list that contains itself.
  Result<YamlValue> copy(const YAML::Node& node, int depth = 0) {
    constexpr std::size_t most_values = 100'000;
    constexpr int deepest_level = 64;
    YamlValue value;
    value.line = std::max(1, node.Mark().line + 1);
    if (depth > deepest_level) {
      return at_line(file_, value.line,
                     "nested more than 64 levels deep, or an alias holds itself");
    }
    if (++values_ > most_values) {
      return at_line(file_, value.line, "more than 100000 values, aliases counted each time");
    }
    if (node.IsScalar()) {
      value.kind = YamlValue::Kind::text;
      value.text = node.Scalar();
    } else if (node.IsSequence()) {
      value.kind = YamlValue::Kind::list;
      for (const YAML::Node& item : node) value.items.push_back(TRY(copy(item, depth + 1)));
    } else if (node.IsMap()) {
      value.kind = YamlValue::Kind::map;
      std::unordered_set<std::string> names;
      for (const auto& pair : node) {
        TRY(add_member(value, names, pair.first, pair.second, depth + 1));
      }
    }
    return value;
  }

 private:
  Status add_member(YamlValue& map, std::unordered_set<std::string>& names, const YAML::Node& key,
                    const YAML::Node& value, int depth) {
    const int line = std::max(1, key.Mark().line + 1);
    if (!key.IsScalar()) return at_line(file_, line, "a key must be text");
    // yaml-cpp would silently keep the first of two equal keys.
    if (!names.insert(key.Scalar()).second) {
      return at_line(file_, line, fmt::format("key \"{}\" is given twice", key.Scalar()));
    }
    map.keys.push_back({key.Scalar(), line});
    map.items.push_back(TRY(copy(value, depth)));
    return {};
  }

  std::string_view file_;
  std::size_t values_ = 0;
};

bool is_text(const YamlValue& value) {
  return value.kind == YamlValue::Kind::text && !value.text.empty();
}

}  // namespace

/// Every JSON string is also a YAML string.
std::string yaml_scalar(std::string_view text) {
  return json_line(Json(text));
}

Error at_line(std::string_view file, int line, std::string_view message) {
  return {ErrorKind::usage, fmt::format("{}:{}: {}", file, line, message)};
}

Result<YamlValue> parse_yaml(std::string_view text, std::string_view file) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    for (std::size_t i = 1; i < documents.size(); ++i) {
      if (documents[i].IsNull()) continue;  // nothing stands after the last "---"
      return at_line(file, documents[i].Mark().line + 1,
                     "a second document begins here, after \"---\", and only one is read; put it "
                     "into a file of its own");
    }
    return Copier(file).copy(documents.empty() ? YAML::Node() : documents.front());
  } catch (const YAML::Exception& error) {  // yaml-cpp throws its errors; none passes this point
    return at_line(file, error.mark.is_null() ? 1 : error.mark.line + 1, error.msg);
  }
}

Result<YamlReader> YamlReader::of(const YamlValue& value, std::string_view file,
                                  std::string_view what, const std::vector<std::string>& allowed) {
  if (value.kind != YamlValue::Kind::map) return at_line(file, value.line, what);
  for (const YamlValue::Key& key : value.keys) {
    if (std::find(allowed.begin(), allowed.end(), key.text) == allowed.end()) {
      return at_line(file, key.line,
                     fmt::format("unknown key \"{}\"{}; allowed: {}", key.text,
                                 did_you_mean(key.text, allowed), fmt::join(allowed, ", ")));
    }
  }
  return YamlReader(value, file);
}

const YamlValue* YamlReader::find(std::string_view key) const {
  for (std::size_t i = 0; i < value_->keys.size(); ++i) {
    if (value_->keys[i].text == key) return &value_->items[i];
  }
  return nullptr;
}

Error YamlReader::wrong(const YamlValue& value, std::string_view message) const {
  return at_line(file_, value.line, message);
}

Error YamlReader::wrong(std::string_view key, std::string_view message) const {
  const YamlValue* value = find(key);
  return wrong(value != nullptr ? *value : *value_, message);
}

Result<std::string> YamlReader::text(std::string_view key) const {
  const YamlValue* value = find(key);
  if (value == nullptr) return wrong(*value_, fmt::format("\"{}\" is missing", key));
  if (!is_text(*value)) return wrong(*value, fmt::format("\"{}\" must be one line of text", key));
  return value->text;
}

Result<std::vector<std::string>> YamlReader::texts(std::string_view key) const {
  const YamlValue* value = find(key);
  if (value == nullptr) return wrong(*value_, fmt::format("\"{}\" is missing", key));
  if (is_text(*value)) return std::vector<std::string>{value->text};
  std::vector<std::string> texts;
  for (const YamlValue& item : value->items) {
    if (value->kind != YamlValue::Kind::list || item.kind != YamlValue::Kind::text) {
      texts.clear();
      break;
    }
    texts.push_back(item.text);
  }
  if (texts.empty()) {
    return wrong(*value, fmt::format("\"{}\" must be a string or a list of strings", key));
  }
  return texts;
}

Status YamlReader::optional(std::string_view key, std::string& target) const {
  if (find(key) != nullptr) target = TRY(text(key));
  return {};
}

Status YamlReader::optional(std::string_view key, std::vector<std::string>& target) const {
  if (find(key) != nullptr) target = TRY(texts(key));
  return {};
}

Status YamlReader::optional(std::string_view key,
                            std::vector<std::pair<std::string, std::string>>& target) const {
  const YamlValue* value = find(key);
  if (value == nullptr) return {};
  target.clear();
  for (std::size_t i = 0; i < value->keys.size(); ++i) {
    if (value->items[i].kind != YamlValue::Kind::text) {
      return wrong(value->items[i],
                   fmt::format("{} in \"{}\" must be one line of text", value->keys[i].text, key));
    }
    target.emplace_back(value->keys[i].text, value->items[i].text);
  }
  if (value->kind != YamlValue::Kind::map) {
    return wrong(*value, fmt::format("\"{}\" must be a map of strings, e.g. {{NAME: value}}", key));
  }
  return {};
}

Status YamlReader::flag(std::string_view key, bool& target) const {
  constexpr std::array<std::string_view, 3> truths = {"true", "on", "yes"};
  constexpr std::array<std::string_view, 3> falsehoods = {"false", "off", "no"};
  if (find(key) == nullptr) return {};
  const std::string word = TRY(text(key));
  target = std::find(truths.begin(), truths.end(), word) != truths.end();
  if (!target && std::find(falsehoods.begin(), falsehoods.end(), word) == falsehoods.end()) {
    return wrong(key, fmt::format("\"{}\" must be on or off, not \"{}\"", key, word));
  }
  return {};
}

Status YamlReader::count(std::string_view key, std::uint64_t least, std::uint64_t most,
                         std::uint64_t& target) const {
  if (find(key) == nullptr) return {};
  const std::string word = TRY(text(key));
  const auto number = parse_integer(word);
  if (!number.ok() || *number < least || *number > most) {
    return wrong(key, fmt::format("\"{}\" must be a number from {} to {}, not \"{}\"", key, least,
                                  most, word));
  }
  target = *number;
  return {};
}

Status YamlReader::duration(std::string_view key, std::optional<double>& seconds) const {
  if (find(key) == nullptr) return {};
  const auto parsed = parse_duration(TRY(text(key)));
  if (!parsed.ok()) return wrong(key, parsed.error().message);
  seconds = *parsed;
  return {};
}

Status YamlReader::size(std::string_view key, std::optional<std::uint64_t>& bytes) const {
  if (find(key) == nullptr) return {};
  const auto parsed = parse_size(TRY(text(key)));
  if (!parsed.ok()) return wrong(key, parsed.error().message);
  bytes = *parsed;
  return {};
}

Status YamlReader::share(std::string_view key, double least, double most, double& target) const {
  if (find(key) == nullptr) return {};
  const std::string word = TRY(text(key));
  double number = 0;
  const bool percent = word.ends_with('%');
  const char* const last = word.data() + word.size() - (percent ? 1 : 0);
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (percent) number /= 100;
  if (error != std::errc() || end != last || !(number > least) || !(number < most)) {
    return wrong(key, fmt::format("\"{}\" must be a share above {}% and below {}%, e.g. 2%, not "
                                  "\"{}\"",
                                  key, least * 100, most * 100, word));
  }
  target = number;
  return {};
}

}  // namespace assay
