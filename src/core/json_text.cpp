#include "core/json_text.h"

#include <fmt/format.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"

namespace assay {
namespace {

/// Builds a value from RapidJSON's events, which come several times faster than those of the
/// library that holds the value. Values wait on a stack until their container ends, so that it is
/// allocated once.
class ValueBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ValueBuilder> {
 public:
  explicit ValueBuilder(std::size_t most_members) : most_members_(most_members) {}

  bool Null() { return add(Json()); }
  bool Bool(bool value) { return add(Json(value)); }
  /// RapidJSON 1.1 reads beyond its tables where it converts numbers with all digits itself.
  bool RawNumber(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view text(begin, length);
    if (text.find_first_of(".eE") == text.npos) {
      if (const auto count = whole<std::uint64_t>(text)) return add(Json(*count));
      if (const auto negative = whole<std::int64_t>(text)) return add(Json(*negative));
    }
    const double value = std::strtod(begin, nullptr);  // a zero follows the text
    return std::isfinite(value) && add(Json(value));
  }
  bool String(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view text(begin, length);
    return !has_surrogate(text) && add(Json(text));
  }
  bool Key(const char* begin, rapidjson::SizeType length, bool) {
    keys_.emplace_back(begin, length);
    return !has_surrogate(keys_.back());
  }
  bool StartObject() { return open(); }
  bool StartArray() { return open(); }

  bool EndObject(rapidjson::SizeType count) {
    if (count > most_members_) {
      problem_ = fmt::format("one of its JSON's objects has more than {} members", most_members_);
      return false;
    }
    Json::object_t members;
    members.reserve(count);
    for (std::size_t i = values_.size() - count, key = keys_.size() - count; i < values_.size();
         ++i, ++key) {
      members[keys_[key]] = std::move(values_[i]);  // the last of equal keys wins
    }
    keys_.resize(keys_.size() - count);
    return close(count, Json(std::move(members)));
  }
  bool EndArray(rapidjson::SizeType count) {
    const auto begin = values_.end() - static_cast<std::ptrdiff_t>(count);
    return close(count,
                 Json(Json::array_t(std::move_iterator(begin), std::move_iterator(values_.end()))));
  }

  Json& root() { return values_.front(); }
  const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  static std::optional<T> whole(std::string_view text) {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  bool add(Json value) {
    values_.push_back(std::move(value));
    return true;
  }
  /// Counts the open containers, which bounds the parser's recursion.
  bool open() {
    if (++levels_ <= most_json_levels) return true;
    problem_ = fmt::format("its JSON is nested more than {} levels deep", most_json_levels);
    return false;
  }
  bool close(std::size_t count, Json container) {
    --levels_;
    values_.resize(values_.size() - count);
    return add(std::move(container));
  }

  const std::size_t most_members_;
  std::vector<Json> values_;       // complete ones, whose containers are not
  std::vector<std::string> keys_;  // of those that are members
  std::size_t levels_ = 0;
  std::string problem_ = "it is not JSON";
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::size_t most_members) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  ValueBuilder builder(most_members);
  rapidjson::MemoryStream letters(text.data(), text.size());
  rapidjson::Reader reader;
  constexpr unsigned flags =
      rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  const bool sound = !reader.Parse<flags>(letters, builder).IsError();
  // The parser takes a byte of zero for the end.
  if (!sound || letters.Tell() != text.size()) return Error{ErrorKind::usage, builder.problem()};
  return std::move(builder.root());
}

}  // namespace assay
