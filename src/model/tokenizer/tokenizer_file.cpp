// tokenizer.json of the tokenizers package, read into a Tokenizer:
// https://huggingface.co/docs/tokenizers, of which byte-level byte pair encoding is computed here.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "core/utf8.h"
#include "model/tokenizer/tokenizer.h"

namespace assay {
namespace {

constexpr std::size_t most_tokens = 1 << 21;

Error not_computed(std::string what) {
  return {ErrorKind::usage, std::move(what)};
}

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", shown_line(text, 80));
}

const SortedJson& member(const SortedJson& object, const char* key) {
  static const SortedJson none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_in(const SortedJson& object, const char* key) {
  const SortedJson& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_true(const SortedJson& object, const char* key) {
  return member(object, key) == true;
}

/// The printable characters that stand for the bytes 0 ... 255 in a byte-level vocabulary: those of
/// Latin-1 that are printable stand for themselves, the others are U+0100 and those after it.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters = {};
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

/// The bytes that `written` stands for; none if a character stands for no byte.
std::optional<std::string> bytes_written(std::string_view written) {
  static const std::unordered_map<char32_t, char> bytes = [] {
    std::unordered_map<char32_t, char> all;
    const auto characters = byte_characters();
    for (std::size_t i = 0; i < characters.size(); ++i) {
      all[characters[i]] = static_cast<char>(i);
    }
    return all;
  }();
  std::string result;
  while (!written.empty()) {
    const Utf8Character character = first_character(written);
    const auto found = bytes.find(character.code);
    if (character.kind != Utf8Character::Kind::whole || found == bytes.end()) return std::nullopt;
    result += found->second;
    written.remove_prefix(character.bytes);
  }
  return result;
}

/// A text as a pattern that matches it alone.
std::string escaped_pattern(std::string_view text) {
  std::string pattern;
  for (const char letter : text) {
    if (letter == 0) {
      pattern += "\\x00";
      continue;
    }
    const bool plain = (letter & 0x80) != 0 || std::isalnum(static_cast<unsigned char>(letter));
    if (!plain) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

/// What ByteLevel splits by if it is told to: GPT-2's pattern.
constexpr std::string_view byte_level_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

class TokenizerReader {
 public:
  explicit TokenizerReader(const SortedJson& file) : file_(&file) {}

  Result<Tokenizer> read() {
    const SortedJson& model = member(*file_, "model");
    TRY(check_model(model));
    TRY(read_vocabulary(member(model, "vocab")));
    std::vector<std::int32_t> token_of_byte;
    for (int byte = 0; byte < 256; ++byte) {
      const auto found = tokenizer_.tokens_of_.find(std::string(1, static_cast<char>(byte)));
      if (found == tokenizer_.tokens_of_.end()) {
        return not_computed(
            fmt::format("its vocabulary lacks a token for the byte {}; is it byte-level?", byte));
      }
      token_of_byte.push_back(found->second);
    }
    tokenizer_.pairs_ = BytePairs(std::move(token_of_byte));
    TRY(read_merges(member(model, "merges")));
    tokenizer_.whole_pieces_first_ = is_true(model, "ignore_merges");
    TRY(read_added(member(*file_, "added_tokens")));
    TRY(read_normalizer(member(*file_, "normalizer")));
    TRY(read_splits(member(*file_, "pre_tokenizer")));
    if (!byte_level_) return not_computed("its pre_tokenizer is not ByteLevel");
    if (text_in(member(*file_, "decoder"), "type") != "ByteLevel") {
      return not_computed("its decoder is not ByteLevel");
    }
    TRY(read_template(member(*file_, "post_processor")));
    return std::move(tokenizer_);
  }

 private:
  static Status check_model(const SortedJson& model) {
    if (text_in(model, "type") != "BPE") {
      return not_computed(
          fmt::format("its model is {}, allowed: \"BPE\"", in_quotes(text_in(model, "type"))));
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!text_in(model, key).empty()) return not_computed(fmt::format("its model has a {}", key));
    }
    if (is_true(model, "byte_fallback")) return not_computed("its model has byte_fallback");
    const SortedJson& dropout = member(model, "dropout");
    if (dropout.is_number() && dropout != 0) return not_computed("its model has dropout");
    return {};
  }

  /// Makes room for a token.
  Status add_token(std::int64_t token, std::string bytes, bool special) {
    if (token < 0 || token >= std::int64_t{most_tokens}) {
      return not_computed(fmt::format("token {}, allowed: 0 to {}", token, most_tokens - 1));
    }
    const auto at = static_cast<std::size_t>(token);
    if (tokenizer_.bytes_of_.size() <= at) {
      tokenizer_.bytes_of_.resize(at + 1);
      tokenizer_.special_.resize(at + 1);
    }
    tokenizer_.bytes_of_[at] = std::move(bytes);
    tokenizer_.special_[at] = special;
    return {};
  }

  Status read_vocabulary(const SortedJson& vocabulary) {
    if (!vocabulary.is_object()) return not_computed("its model has no vocab");
    for (const auto& [written, id] : vocabulary.items()) {
      if (!id.is_number_integer() || (id.is_number_unsigned() && id > most_tokens)) {
        return not_computed(
            fmt::format("its vocab has no whole number for {}", in_quotes(written)));
      }
      const auto token = id.get<std::int64_t>();
      const auto bytes = bytes_written(written);
      TRY(add_token(token, bytes.value_or(written), false));
      tokens_written_[written] = static_cast<std::int32_t>(token);
      if (bytes) tokenizer_.tokens_of_[*bytes] = static_cast<std::int32_t>(token);
    }
    return {};
  }

  /// "left right", or ["left", "right"].
  Status read_merges(const SortedJson& merges) {
    if (!merges.is_array()) return not_computed("its model has no merges");
    for (const SortedJson& merge : merges) {
      std::string left, right;
      if (merge.is_string()) {
        const auto text = merge.get<std::string>();
        const std::size_t space = text.find(' ');
        left = text.substr(0, space);
        if (space != std::string::npos) right = text.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      }
      if (left.empty() || right.empty()) return not_computed("a merge is not of two tokens");
      std::array<std::int32_t, 3> tokens = {};
      for (std::size_t i = 0; const std::string& written : {left, right, left + right}) {
        const auto found = tokens_written_.find(written);
        if (found == tokens_written_.end()) {
          return not_computed(
              fmt::format("a merge uses {}, which its vocab lacks", in_quotes(written)));
        }
        tokens[i++] = found->second;
      }
      tokenizer_.pairs_.add(tokens[0], tokens[1], tokens[2]);
    }
    return {};
  }

  Status read_added(const SortedJson& added) {
    if (!added.is_null() && !added.is_array())
      return not_computed("its added_tokens are not a list");
    std::vector<std::string> contents;
    for (const SortedJson& one : added) {
      const std::string content = text_in(one, "content");
      const SortedJson& id = member(one, "id");
      if (content.empty() || !id.is_number_unsigned() || id > most_tokens) {
        return not_computed("an added token lacks its id or content");
      }
      for (const char* key : {"single_word", "lstrip", "rstrip"}) {
        if (!is_true(one, key)) continue;
        return not_computed(
            fmt::format("its added token {} has {}, allowed: false", in_quotes(content), key));
      }
      const auto token = id.get<std::int64_t>();
      TRY(add_token(token, content, is_true(one, "special")));
      tokenizer_.added_[content] = static_cast<std::int32_t>(token);
      contents.push_back(content);
    }
    if (contents.empty()) return {};
    // The longest of those that begin at the same place.
    std::ranges::sort(contents, std::ranges::greater{}, &std::string::size);
    std::string pattern;
    for (const std::string& content : contents) {
      pattern += (pattern.empty() ? "" : "|") + escaped_pattern(content);
    }
    auto compiled = Pattern::compile_unicode(pattern);
    if (!compiled.ok()) {
      return not_computed(fmt::format("its added tokens: {}", compiled.error().message));
    }
    tokenizer_.added_pattern_.emplace(std::move(*compiled));
    return {};
  }

  Status read_normalizer(const SortedJson& normalizer) {
    if (normalizer.is_null()) return {};
    const std::string type = text_in(normalizer, "type");
    if (type == "Sequence" && member(normalizer, "normalizers").empty()) return {};
    if (type != "NFC") {
      return not_computed(
          fmt::format("its normalizer is {}, allowed: \"NFC\" and none", in_quotes(type)));
    }
    tokenizer_.compose_ = true;
    return {};
  }

  Status read_splits(const SortedJson& given) {
    const std::string type = text_in(given, "type");
    if (type == "Sequence") {
      for (const SortedJson& one : member(given, "pretokenizers")) {
        if (text_in(one, "type") == "Sequence") return not_computed("its pre_tokenizer is nested");
        TRY(read_splits(one));
      }
      return {};
    }
    if (byte_level_) return not_computed("its pre_tokenizer goes on after ByteLevel");
    if (type == "ByteLevel") {
      byte_level_ = true;
      if (is_true(given, "add_prefix_space")) {
        return not_computed("its pre_tokenizer has add_prefix_space, allowed: false");
      }
      if (member(given, "use_regex") == false) return {};
      return add_split(byte_level_pattern);
    }
    if (type != "Split") {
      return not_computed(fmt::format(
          "its pre_tokenizer is {}, allowed: \"Split\" and \"ByteLevel\"", in_quotes(type)));
    }
    if (text_in(given, "behavior") != "Isolated" || is_true(given, "invert")) {
      return not_computed("its pre_tokenizer Split is not Isolated, or inverted");
    }
    const SortedJson& pattern = member(given, "pattern");
    const std::string text = text_in(pattern, "Regex");
    if (text.empty() && text_in(pattern, "String").empty()) {
      return not_computed("its pre_tokenizer Split has no pattern");
    }
    return add_split(text.empty() ? escaped_pattern(text_in(pattern, "String")) : text);
  }

  Status add_split(std::string_view pattern) {
    auto compiled = Pattern::compile_unicode(pattern);
    if (!compiled.ok()) {
      return not_computed(
          fmt::format("its pattern {}: {}", in_quotes(pattern), compiled.error().message));
    }
    tokenizer_.splits_.push_back(std::move(*compiled));
    return {};
  }

  /// The tokens before a text. ByteLevel changes nothing but places.
  Status read_template(const SortedJson& processor) {
    const std::string type = text_in(processor, "type");
    if (processor.is_null() || type == "ByteLevel") return {};
    if (type == "Sequence") {
      for (const SortedJson& one : member(processor, "processors")) {
        if (text_in(one, "type") == "Sequence") return not_computed("its post_processor is nested");
        TRY(read_template(one));
      }
      return {};
    }
    if (type != "TemplateProcessing") {
      return not_computed(
          fmt::format("its post_processor is {}, allowed: \"ByteLevel\" and \"TemplateProcessing\"",
                      in_quotes(type)));
    }
    bool after = false;
    for (const SortedJson& step : member(processor, "single")) {
      const SortedJson& special = member(step, "SpecialToken");
      if (special.is_null()) {
        after = true;
        continue;
      }
      if (after) return not_computed("its post_processor adds tokens after a text");
      const auto token = tokenizer_.find(text_in(special, "id"));
      if (!token) {
        return not_computed(fmt::format("its post_processor adds {}, which is no token",
                                        in_quotes(text_in(special, "id"))));
      }
      tokenizer_.begin_.push_back(*token);
    }
    return {};
  }

  const SortedJson* file_;
  Tokenizer tokenizer_ = Tokenizer(BytePairs({}));
  std::unordered_map<std::string, std::int32_t> tokens_written_;
  bool byte_level_ = false;
};

Result<Tokenizer> Tokenizer::parse(std::string_view text) {
  constexpr int deepest = 64;
  bool too_deep = false;
  const auto bound = [&](int depth, SortedJson::parse_event_t, SortedJson&) {
    too_deep = too_deep || depth > deepest;
    return !too_deep;
  };
  const SortedJson file = try_parse_sorted_json(text, bound);
  if (too_deep || !file.is_object()) return not_computed("is not an object of JSON");
  return TokenizerReader(file).read();
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  constexpr std::size_t most = 256 << 20;
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "tokenizer.json" : path;
  const std::string text = TRY(read_operand(file, most));
  auto made = parse(text);
  if (!made.ok()) return not_computed(fmt::format("{}: {}", file.string(), made.error().message));
  return made;
}

}  // namespace assay
