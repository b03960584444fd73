#include "results/store/json_reader.h"

#include <fmt/format.h>

#include <climits>
#include <cmath>

#include "core/json.h"

namespace assay {

Result<JsonReader> JsonReader::of(const Json& json, std::string path) {
  if (!json.is_object()) {
    return Error{ErrorKind::usage, path.empty() ? "not a JSON object"
                                                : fmt::format("field {} must be an object", path)};
  }
  return JsonReader(json, std::move(path));
}

const Json* JsonReader::find(const char* key) const {
  const auto at = json_->find(key);
  return at == json_->end() ? nullptr : &*at;
}

bool JsonReader::has(const char* key) const {
  return find(key) != nullptr;
}

Error JsonReader::wrong(std::string_view key, std::string_view message) const {
  return {ErrorKind::usage,
          fmt::format("field {}{}{} {}", path_, path_.empty() ? "" : ".", key, message)};
}

Result<const Json*> JsonReader::required(const char* key) const {
  const Json* json = find(key);
  if (json == nullptr) return wrong(key, "is missing");
  return json;
}

Result<JsonReader> JsonReader::object(const char* key) const {
  const Json* json = TRY(required(key));
  return of(*json, path_.empty() ? key : path_ + "." + key);
}

Result<std::string> JsonReader::text(const char* key) const {
  const Json* json = TRY(required(key));
  if (!json->is_string()) return wrong(key, "must be text");
  return json->get<std::string>();
}

Result<double> JsonReader::number(const char* key) const {
  const Json* json = TRY(required(key));
  if (json->is_null()) return std::nan("");
  if (!json->is_number()) return wrong(key, "must be a number");
  return json->get<double>();
}

Result<std::uint64_t> JsonReader::count(const char* key) const {
  const Json* json = TRY(required(key));
  const bool negative =
      !json->is_number_unsigned() && json->is_number_integer() && json->get<std::int64_t>() < 0;
  if (!json->is_number_integer() || negative) {
    return wrong(key, "must be a whole number, not negative");
  }
  return json->get<std::uint64_t>();
}

Result<std::vector<double>> JsonReader::numbers(const char* key) const {
  const Json* array = TRY(required(key));
  if (!array->is_array()) return wrong(key, "must be an array of numbers");
  std::vector<double> values;
  for (const Json& item : *array) {
    if (!item.is_number()) return wrong(key, "must be an array of numbers");
    values.push_back(item.get<double>());
  }
  return values;
}

Result<bool> JsonReader::flag(const char* key) const {
  const Json* json = TRY(required(key));
  if (!json->is_boolean()) return wrong(key, "must be true or false");
  return json->get<bool>();
}

Result<std::vector<std::pair<std::string, std::string>>> JsonReader::texts(const char* key) const {
  const Json* json = TRY(required(key));
  if (!json->is_object()) return wrong(key, "must be an object");
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : json->items()) {
    if (!value.is_string()) return wrong(key, fmt::format("\"{}\" must be text", name));
    pairs.emplace_back(name, value.get<std::string>());
  }
  return pairs;
}

Status JsonReader::optional(const char* key, std::string& target) const {
  if (has(key)) target = TRY(text(key));
  return {};
}

Status JsonReader::optional(const char* key, double& target) const {
  if (has(key)) target = TRY(number(key));
  return {};
}

Status JsonReader::optional(const char* key, std::optional<double>& target) const {
  if (has(key)) target = TRY(number(key));
  return {};
}

Status JsonReader::optional(const char* key, std::uint64_t& target) const {
  if (has(key)) target = TRY(count(key));
  return {};
}

Status JsonReader::optional(const char* key, int& target) const {
  if (!has(key)) return {};
  const std::uint64_t value = TRY(count(key));
  if (value > INT_MAX) return wrong(key, "is too large");
  target = static_cast<int>(value);
  return {};
}

}  // namespace assay
