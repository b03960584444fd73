#include "measure/import/json_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/measured_unit.h"
#include "measure/import/numbers.h"
#include "measure/import/text_lines.h"

namespace assay {
namespace {

constexpr std::size_t deepest = 64;
constexpr std::size_t most_values = 8'000'000;

/// Builds nodes from the parser's events; the parser itself stores nothing.
class Builder {
 public:
  using number_integer_t = SortedJson::number_integer_t;
  using number_unsigned_t = SortedJson::number_unsigned_t;
  using number_float_t = SortedJson::number_float_t;
  using string_t = SortedJson::string_t;
  using binary_t = SortedJson::binary_t;

  explicit Builder(std::size_t budget) : budget_(budget) {}

  bool null() { return add(JsonNode::Kind::null, {}); }
  bool boolean(bool value) { return add(JsonNode::Kind::boolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) {
    return add(JsonNode::Kind::number, fmt::format("{}", value));
  }
  bool number_unsigned(number_unsigned_t value) {
    return add(JsonNode::Kind::number, fmt::format("{}", value));
  }
  bool number_float(number_float_t, const string_t& text) {
    return add(JsonNode::Kind::number, text);
  }
  bool string(string_t& text) { return add(JsonNode::Kind::text, std::move(text)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(JsonNode::Kind::object); }
  bool start_array(std::size_t) { return open(JsonNode::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    open_.back()->keys.push_back(std::move(name));
    return true;
  }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    position_ = position;
    return false;
  }

  JsonNode& root() { return root_; }
  std::size_t position() const { return position_; }
  std::size_t used() const { return used_; }
  std::string_view problem() const { return problem_; }

 private:
  JsonNode* place() {
    if (++used_ > budget_) {
      problem_ = "its JSON contains more than 8 million values";
      return nullptr;
    }
    if (open_.empty()) return &root_;
    return &open_.back()->items.emplace_back();
  }
  bool add(JsonNode::Kind kind, std::string text) {
    JsonNode* node = place();
    if (node == nullptr) return false;
    node->kind = kind;
    node->text = std::move(text);
    return true;
  }
  bool open(JsonNode::Kind kind) {
    if (open_.size() >= deepest) {
      problem_ = "its JSON is nested more than 64 levels deep";
      return false;
    }
    JsonNode* node = place();
    if (node == nullptr) return false;
    node->kind = kind;
    // The pointer stays valid: nothing is appended to its container before this node is closed.
    open_.push_back(node);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonNode root_;
  std::vector<JsonNode*> open_;
  std::size_t budget_, used_ = 0, position_ = 0;
  std::string_view problem_ = "it is not JSON";
};

/// The text of one value, with Infinity and NaN quoted; all the rest of the file if it does not
/// end.
struct Piece {
  std::string text;
  std::size_t length = 0;  ///< length in the file
};

Piece next_piece(std::string_view rest) {
  Piece piece;
  std::size_t depth = 0, copied = 0, at = 0;
  bool quoted = false;
  while (at < rest.size()) {
    const char letter = rest[at];
    if (quoted) {
      if (letter == '\\') {
        ++at;
      } else if (letter == '"') {
        quoted = false;
      }
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '{' || letter == '[') {
      ++depth;
    } else if (letter == '}' || letter == ']') {
      if (depth <= 1) {
        ++at;
        break;
      }
      --depth;
    } else if (letter == 'I' || letter == 'N' || letter == '-') {
      for (const std::string_view word : {"Infinity", "-Infinity", "NaN"}) {
        if (!rest.substr(at).starts_with(word)) continue;
        piece.text.append(rest, copied, at - copied);
        piece.text += fmt::format("\"{}\"", word);
        copied = at + word.size();
        at = copied - 1;
        break;
      }
    }
    ++at;
  }
  piece.length = std::min(at, rest.size());
  piece.text.append(rest, copied, piece.length - copied);
  return piece;
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  // As in other readers, the last of several equal keys counts.
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

Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input) {
  std::vector<JsonDocument> documents;
  std::string_view rest = without_mark(input.text);
  std::size_t line = 1, budget = most_values;
  const auto wrong = [&](std::size_t at, std::string_view what) {
    return Error{ErrorKind::usage, fmt::format("{}:{}: {}", input.name, at, what)};
  };
  for (;;) {
    const std::size_t begin = std::min(rest.find_first_not_of(" \t\r\n"), rest.size());
    line += count_lines(rest.substr(0, begin));
    rest.remove_prefix(begin);
    if (rest.empty()) break;
    const Piece piece = next_piece(rest);
    Builder builder(budget);
    if (!SortedJson::sax_parse(piece.text, &builder)) {
      // The added quotes are not counted; they do not change the line number.
      const std::string_view before = std::string_view(piece.text).substr(0, builder.position());
      return wrong(line + count_lines(before.substr(0, before.empty() ? 0 : before.size() - 1)),
                   builder.problem());
    }
    budget -= builder.used();
    documents.push_back({std::move(builder.root()), line});
    line += count_lines(rest.substr(0, piece.length));
    rest.remove_prefix(piece.length);
  }
  if (documents.empty()) return wrong(1, "it is empty");
  return documents;
}

bool looks_like_json(std::string_view text) {
  const std::string_view begin = trim(without_mark(text).substr(0, 4096));
  const std::size_t at = begin.find_first_not_of('\n');
  return at != std::string_view::npos && (begin[at] == '{' || begin[at] == '[');
}

void add_metric(Record& record, const JsonNode& value, std::string_view name, double factor,
                std::string_view unit, Better better) {
  const auto number = value.number();
  if (!number) return;
  record.metrics.push_back(metric(name, to_si(*number, factor), unit, better, value.text));
}

void add_metric(Record& record, const JsonNode& object, std::string_view key, std::string_view name,
                double factor, std::string_view unit, Better better) {
  if (const JsonNode* value = object.find(key)) {
    add_metric(record, *value, name, factor, unit, better);
  }
}

std::optional<std::vector<double>> numbers_of(const JsonNode* array) {
  if (array == nullptr || !array->is_array()) return std::nullopt;
  std::vector<double> numbers;
  numbers.reserve(array->items.size());
  for (const JsonNode& item : array->items) {
    const auto number = item.kind == JsonNode::Kind::number ? item.number() : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace assay
