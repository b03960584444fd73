// Events of RapidJSON from a trace stream, for JSON files that are larger than memory.
#pragma once

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"
#include "results/timeline/timeline.h"
#include "results/traces/trace_stream.h"

namespace assay {

/// Presents a trace stream to RapidJSON, as what it calls a Stream. The end reads as '\0'.
class JsonLetters {
 public:
  using Ch = char;
  /// Skips a byte-order mark.
  explicit JsonLetters(TraceStream& stream) : stream_(stream) {
    refill();
    constexpr std::string_view mark = "\xef\xbb\xbf";
    if (!std::string_view(begin_, static_cast<std::size_t>(end_ - begin_)).starts_with(mark))
      return;
    for (std::size_t i = 0; i < mark.size(); ++i) Take();
  }
  Ch Peek() const { return *at_; }
  Ch Take() {
    const Ch letter = *at_++;
    if (at_ == end_) refill();
    return letter;
  }
  std::size_t Tell() const { return before_ + static_cast<std::size_t>(at_ - begin_); }
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  std::size_t PutEnd(Ch*) { return 0; }

  /// Returns whether anything but white space is left.
  bool more_follows() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') Take();
    return *at_ != '\0';
  }

  /// Marks that a token (a text, a number, a bracket) has ended. A token that does not end within
  /// 64 MiB ends the stream, because the parser would hold all of it in memory.
  void end_token() { token_ = before_; }

 private:
  void refill() {
    constexpr std::size_t longest_token = std::size_t{64} << 20;
    before_ += static_cast<std::size_t>(end_ - begin_);
    const std::string_view bytes =
        before_ - token_ > longest_token ? std::string_view() : stream_.read();
    begin_ = at_ = bytes.empty() ? &nothing : bytes.data();
    end_ = bytes.empty() ? &nothing + 1 : bytes.data() + bytes.size();
  }
  static constexpr char nothing = '\0';

  TraceStream& stream_;
  const char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
  std::size_t before_ = 0;  // bytes before begin_
  std::size_t token_ = 0;
};

enum class JsonScalar { literal, number, text };

/// A base of handlers that treat values of all types alike. RapidJSON's events become calls of the
/// handler's public functions `value(text, JsonScalar)`, `key(text)`, `begin_object()`,
/// `end_object()`, `begin_list()` and `end_list()`. Each returns whether to go on.
template <typename Handler>
class JsonEvents : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  bool Null() { return scalar("null", JsonScalar::literal); }
  bool Bool(bool is_true) { return scalar(is_true ? "true" : "false", JsonScalar::literal); }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
    return scalar({text, length}, JsonScalar::number);
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return scalar({text, length}, JsonScalar::text);
  }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    return after_token().key({text, length});
  }
  bool StartObject() { return after_token().begin_object(); }
  bool EndObject(rapidjson::SizeType) { return after_token().end_object(); }
  bool StartArray() { return after_token().begin_list(); }
  bool EndArray(rapidjson::SizeType) { return after_token().end_list(); }

 protected:
  explicit JsonEvents(JsonLetters& letters) : letters_(letters) {}

 private:
  bool scalar(std::string_view text, JsonScalar kind) { return after_token().value(text, kind); }
  Handler& after_token() {
    letters_.end_token();
    return static_cast<Handler&>(*this);
  }

  JsonLetters& letters_;
};

/// Sends the events of one JSON value to `handler`, whose levels must be bounded by the handler
/// itself. Numbers arrive as text; NaN, infinities and trailing commas are allowed. Returns why
/// reading stopped before the value's end, "is no JSON from byte 24 on", also if the handler itself
/// ended it, or "is cut off at byte 17"; empty if it did not.
template <typename Handler>
std::string parse_json_stream(JsonLetters& letters, Handler& handler) {
  constexpr unsigned flags = rapidjson::kParseNumbersAsStringsFlag |
                             rapidjson::kParseNanAndInfFlag | rapidjson::kParseStopWhenDoneFlag |
                             rapidjson::kParseTrailingCommasFlag;
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<flags>(letters, handler);
  if (!result.IsError()) return {};
  if (letters.Peek() == '\0') return fmt::format("is cut off at byte {}", letters.Tell());
  return fmt::format("is no JSON from byte {} on", result.Offset());
}

/// Reports `problem`, as parse_json_stream() returns it; an empty one is none. It becomes a note if
/// there were events before it. Error: usage, if there were none.
inline Status report_json_problem(const TraceStream& stream, Timeline& timeline,
                                  const std::string& problem, bool found_events) {
  if (problem.empty()) return {};
  const std::string text = fmt::format("{} {}", stream.name(), problem);
  if (!found_events) return Error{ErrorKind::usage, text};
  timeline.note(text + "; what is before was read");
  return {};
}

}  // namespace assay
