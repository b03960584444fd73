#include "serving/workload/json_objects.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr JsonLimits limits = {.values = 2'000'000, .bytes = std::size_t{16} << 20};
constexpr std::string_view white_space = " \t\r\n";
/// Between objects: white space, commas, and a byte-order mark.
constexpr std::string_view between = " \t\r\n,\xef\xbb\xbf";

Error without_place(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

}  // namespace

Result<JsonObjects> JsonObjects::open(const std::string& path) {
  return JsonObjects(path, TRY(JsonValues::open(path)));
}

Error JsonObjects::wrong(std::string_view message) const {
  return {ErrorKind::usage, fmt::format("{}:{}: {}", path_, line_, message)};
}

Result<std::optional<JsonNode>> JsonObjects::next() {
  auto letter = TRY(values_.next_letter(between));
  for (; letter == '[' || letter == ']'; letter = TRY(values_.next_letter(between))) {
    in_array_ = letter == '[';
    TRY(values_.next_letter(in_array_ ? "[" : "]"));
  }
  line_ = values_.line();
  if (!letter && in_array_) return wrong("the file ends within an array; is it whole?");
  if (!letter) return std::optional<JsonNode>();
  if (*letter != '{') return wrong("expected the start of an object here");
  auto node = values_.read(limits);
  if (node.ok()) return std::optional(std::move(*node));
  const bool torn = !TRY(values_.next_letter(white_space));
  return wrong(torn ? "the file ends within an object" : node.error().message);
}

Result<std::string> text_at(const JsonNode& object, std::string_view key) {
  const JsonNode* found = object.find(key);
  if (found == nullptr || found->kind != JsonNode::Kind::text) {
    return without_place(fmt::format("{} is not text", key));
  }
  return found->text;
}

Result<double> number_at(const JsonNode& object, std::string_view key, double most) {
  const JsonNode* found = object.find(key);
  const bool is_number = found != nullptr && found->kind == JsonNode::Kind::number;
  const auto value = is_number ? found->number() : std::nullopt;
  if (!value) return without_place(fmt::format("{} is not a number", key));
  if (!(0 <= *value && *value <= most)) {
    return without_place(fmt::format("{} {} is not between 0 and {}", key, *value, most));
  }
  return *value;
}

Result<std::uint64_t> count_at(const JsonNode& object, std::string_view key, std::uint64_t most) {
  const double value = TRY(number_at(object, key, static_cast<double>(most)));
  if (value != std::floor(value)) {
    return without_place(fmt::format("{} {} is not a whole number", key, value));
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace assay
