#include "core/json_node.h"

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cassert>

#include "core/json_text.h"
#include "core/text.h"

namespace assay {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;

/// Builds nodes from the parser's events; the parser itself keeps only the text it is reading.
class NodeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, NodeBuilder> {
 public:
  explicit NodeBuilder(std::size_t most_values) : most_values_(most_values) {}

  bool Null() { return add(JsonNode::Kind::null, {}); }
  bool Bool(bool value) { return add(JsonNode::Kind::boolean, value ? "true" : "false"); }
  bool RawNumber(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view text(begin, length);
    const bool spelled = text == "Infinity" || text == "-Infinity" || text == "NaN";
    if (!spelled && text.find_first_of("IN") != text.npos) return false;  // "Inf", "-NaN"
    return add(JsonNode::Kind::number, text);
  }
  bool String(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view text(begin, length);
    return !has_surrogate(text) && add(JsonNode::Kind::text, text);
  }
  bool StartObject() { return open(JsonNode::Kind::object); }
  bool StartArray() { return open(JsonNode::Kind::array); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  bool Key(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view text(begin, length);
    open_.back()->keys.emplace_back(text);
    return !has_surrogate(text);
  }

  JsonNode& root() { return root_; }
  std::size_t values() const { return values_; }
  const std::string& problem() const { return problem_; }

 private:
  JsonNode* place() {
    if (++values_ > most_values_) {
      problem_ =
          fmt::format("its JSON contains more than {} million values", most_values_ / 1'000'000);
      return nullptr;
    }
    if (open_.empty()) return &root_;
    return &open_.back()->items.emplace_back();
  }
  bool add(JsonNode::Kind kind, std::string_view text) {
    JsonNode* node = place();
    if (node == nullptr) return false;
    node->kind = kind;
    node->text = text;
    return true;
  }
  bool open(JsonNode::Kind kind) {
    if (open_.size() >= most_json_levels) {
      problem_ = fmt::format("its JSON is nested more than {} levels deep", most_json_levels);
      return false;
    }
    JsonNode* node = place();
    if (node == nullptr) return false;
    node->kind = kind;
    // The pointer stays valid, because nothing is appended to its container before this node is
    // closed.
    open_.push_back(node);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::size_t most_values_;
  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::size_t values_ = 0;
  std::string problem_ = "it is not JSON";
};

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  // The last of several equal keys wins, as in other readers.
  for (std::size_t i = std::min(keys.size(), items.size()); i-- > 0;) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::string_view JsonNode::at(std::string_view key) const {
  const JsonNode* member = find(key);
  return member == nullptr ? std::string_view() : std::string_view(member->text);
}

std::optional<double> JsonNode::number() const {
  return kind == Kind::number || kind == Kind::text ? parse_number(trim(text)) : std::nullopt;
}

std::optional<double> JsonNode::number_at(std::string_view key) const {
  const JsonNode* member = find(key);
  return member == nullptr ? std::nullopt : member->number();
}

class JsonValues::Letters {
 public:
  using Ch = char;
  Letters(JsonValues& values, std::size_t most_bytes) : values_(values), left_(most_bytes) {}

  Ch Peek() const { return left_ == 0 || values_.at_end() ? '\0' : *values_.at_; }
  Ch Take() {
    if (left_ == 0 || values_.at_end()) return '\0';
    --left_;
    ++taken_;
    return values_.take();
  }
  std::size_t Tell() const { return taken_; }
  bool too_long() const { return left_ == 0; }

  // RapidJSON calls this only when it parses in place.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) { assert(false); }
  void Flush() { assert(false); }
  std::size_t PutEnd(Ch*) { return 0; }

 private:
  JsonValues& values_;
  std::size_t left_, taken_ = 0;
};

Result<JsonValues> JsonValues::open(const std::string& path) {
  JsonValues values{std::string_view()};
  values.path_ = path;
  if (const int error = values.file_.open(path)) return unreadable(path, error);
  values.buffer_.resize(buffer_bytes);
  values.refill();
  return values;
}

char JsonValues::take() {
  const char letter = *at_++;
  if (letter == '\n') ++line_;
  if (at_end()) refill();
  return letter;
}

void JsonValues::refill() {
  if (!file_.is_open()) return;
  std::size_t got = 0;
  error_ = file_.read(buffer_, got);
  at_ = buffer_.data();
  end_ = at_ + got;
}

Result<std::optional<char>> JsonValues::next_letter(std::string_view between) {
  while (!at_end() && between.find(*at_) != between.npos) take();
  if (!at_end()) return std::optional(*at_);
  if (error_ != 0) return unreadable(path_, error_);
  return std::optional<char>();
}

void JsonValues::skip_line() {
  while (!at_end() && take() != '\n') {
  }
}

Result<JsonNode> JsonValues::read(const JsonLimits& limits) {
  NodeBuilder builder(limits.values);
  Letters letters(*this, limits.bytes);
  rapidjson::Reader reader;
  // The builder stops at its maximum depth, which bounds the parser's recursion.
  constexpr unsigned flags = rapidjson::kParseStopWhenDoneFlag |
                             rapidjson::kParseValidateEncodingFlag |
                             rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  const bool sound = !reader.Parse<flags>(letters, builder).IsError();
  count_ += builder.values();
  if (sound) return std::move(builder.root());
  if (error_ != 0) return unreadable(path_, error_);
  if (letters.too_long()) {
    return Error{ErrorKind::usage,
                 fmt::format("an object is larger than {} MiB", limits.bytes >> 20)};
  }
  return Error{ErrorKind::usage, builder.problem()};
}

}  // namespace assay
