#include "serving/workload/json_objects.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20, deepest = 64;

/// Between objects: white space, an array's punctuation, and a byte-order mark.
bool is_between(int letter) {
  return letter != EOF && (std::strchr(" \t\r\n,[]", letter) != nullptr || letter == 0xEF ||
                           letter == 0xBB || letter == 0xBF);
}

Error without_place(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

}  // namespace

Result<JsonObjects> JsonObjects::open(const std::string& path) {
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) {
    return Error{ErrorKind::usage, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
  }
  return JsonObjects(path, std::move(file));
}

Error JsonObjects::wrong(std::string_view message) const {
  return {ErrorKind::usage, fmt::format("{}:{}: {}", path_, object_line_, message)};
}

int JsonObjects::get() {
  const int letter = ::getc_unlocked(file_.get());
  if (letter == '\n') ++line_;
  return letter;
}

/// Reads up to the brace that closes the one already read.
Result<std::string> JsonObjects::object_text() {
  std::string text = "{";
  std::size_t depth = 1;
  bool quoted = false, escaped = false;
  while (depth > 0) {
    const int letter = get();
    if (letter == EOF) return wrong("the file ends within an object");
    if (text.size() == most_bytes) return wrong("an object is larger than 16 MiB");
    text += static_cast<char>(letter);
    if (quoted) {
      quoted = escaped || letter != '"';
      escaped = !escaped && letter == '\\';
    } else if (letter == '"') {
      quoted = true;
    } else if (letter == '{' || letter == '[') {
      if (++depth > deepest) return wrong("its JSON is nested more than 64 levels deep");
    } else if (letter == '}' || letter == ']') {
      --depth;
    }
  }
  return text;
}

Result<std::optional<SortedJson>> JsonObjects::next() {
  int letter = get();
  while (is_between(letter)) letter = get();
  object_line_ = line_;
  if (letter == EOF) {
    if (std::ferror(file_.get()) != 0) {
      return Error{ErrorKind::usage,
                   fmt::format("cannot read {}: {}", path_, std::strerror(errno))};
    }
    return std::optional<SortedJson>();
  }
  if (letter != '{') return wrong("expected the start of an object here");
  const std::string text = TRY(object_text());
  auto json = SortedJson::parse(text, nullptr, false);
  if (json.is_discarded()) return wrong("it is not JSON");
  return std::optional(std::move(json));
}

Result<std::string> text_at(const SortedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return without_place(fmt::format("{} is not text", key));
  }
  return found->get<std::string>();
}

Result<double> number_at(const SortedJson& object, const char* key, double most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) {
    return without_place(fmt::format("{} is not a number", key));
  }
  const double value = found->get<double>();
  if (!(0 <= value && value <= most)) {
    return without_place(fmt::format("{} {} is not between 0 and {}", key, value, most));
  }
  return value;
}

Result<std::uint64_t> count_at(const SortedJson& object, const char* key, std::uint64_t most) {
  const double value = TRY(number_at(object, key, static_cast<double>(most)));
  if (value != std::floor(value)) {
    return without_place(fmt::format("{} {} is not a whole number", key, value));
  }
  return static_cast<std::uint64_t>(value);
}

}  // namespace assay
