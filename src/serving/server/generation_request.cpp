#include "serving/server/generation_request.h"

#include <fmt/format.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/shown_text.h"
#include "serving/server/unsupported_fields.h"

namespace assay::server {
namespace {

constexpr int most_levels = 32;
constexpr std::size_t most_prompts = 64;
constexpr std::uint64_t most_tokens = 1u << 24;  // no model's context is longer
constexpr double most_temperature = 100, most_top_k = 1 << 30;
constexpr std::uint64_t most_likeliest = 20;  // of log probabilities, as in OpenAI's interface
constexpr const char* kinds_of_prompts = "a text, token ids, or lists of them";
constexpr std::size_t most_stops = 16, most_stop_bytes = 1024;
constexpr std::size_t most_shown = 100;

/// Reads the known fields as they are parsed, without building a tree, so a prompt of 100,000 ids
/// costs no more memory than its ids. Unknown fields are skipped, up to the allowed depth.
class FieldReader final : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, FieldReader> {
 public:
  FieldReader(Dialect dialect, const TextTokens& text) : dialect_(dialect), text_(text) {}

  GenerationRequest request;
  std::string problem;

  /// What must hold of several fields together.
  bool finish() {
    if (dialect_ != Dialect::chat) return true;
    if (!logprobs_ && request.logprobs.value_or(0) > 0) {
      return fail("field \"top_logprobs\" needs \"logprobs\": true");
    }
    request.logprobs = logprobs_ ? std::optional(request.logprobs.value_or(0)) : std::nullopt;
    return true;
  }

  bool Null() { return in_stops_ ? wrong_stop() : top_or_pass(); }
  bool Bool(bool value) {
    if (at_stop()) return wrong_stop();
    if (is_number()) return wrong(key_, "a number");
    check_supported(value ? "true" : "false");
    if (is_top("stream")) request.stream = value;
    if (is_top("ignore_eos")) request.ignore_eos = value;
    if (is_top("sim_stamps")) request.stamps = value;
    if (is_top("return_token_ids")) request.return_ids = value;
    if (is_in("stream_options", "include_usage")) request.include_usage = value;
    if (is_in("stream_options", "continuous_usage_stats")) request.continuous_usage = value;
    if (is_top("logprobs") && dialect_ == Dialect::chat) {
      logprobs_ = value;
    } else if (value &&
               (is_top("logprobs") || is_top("echo") || is_top("include_stop_str_in_output"))) {
      report_unsupported(top_);
    }
    return is_prompt() ? wrong(prompt_key(), "no boolean") : top_or_pass();
  }
  bool Int(int value) { return Int64(value); }
  bool Int64(std::int64_t value) {
    if (at_stop()) return wrong_stop();
    // The parser gives only negative ones here; -1 is llama.cpp's "no limit".
    if (is_prompt()) return wrong(prompt_key(), "no negative token ids");
    const bool no_limit = value == -1 && dialect_ == Dialect::llama_cpp;
    if (is_limit() && !no_limit) return wrong(key_, "at least 1");
    if (is_top("min_tokens") || is_count_of_one()) return wrong(key_, "no negative number");
    if (is_count_of_likeliest()) return wrong_likeliest();
    if (is_flag()) return wrong_flag();
    check_supported(fmt::format("{}", value));
    if (is_sampling("seed")) request.sampling.seed = static_cast<std::uint64_t>(value);
    if (is_sampling("temperature") || is_sampling("top_p") || is_sampling("min_p")) {
      return wrong(key_, "no negative number");
    }
    const bool penalizes = is_sampling("presence_penalty") || is_sampling("frequency_penalty") ||
                           is_sampling("repetition_penalty");
    if (penalizes && !read_sampling(static_cast<double>(value))) return false;
    return top_or_pass();
  }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Uint64(std::uint64_t value) {
    if (at_stop()) return wrong_stop();
    if (is_prompt()) return token(value);
    if (is_flag()) return wrong_flag();
    check_supported(fmt::format("{}", value));
    if (is_limit()) {
      if (value < 1 || value > most_tokens) {
        return wrong(key_, fmt::format("between 1 and {}", most_tokens));
      }
      request.max_tokens = value;
    }
    if (is_top("min_tokens")) request.min_tokens = value;
    if (is_sampling("seed")) request.sampling.seed = value;
    if (!read_sampling(static_cast<double>(value))) return false;
    if (is_count_of_one() && value != 1) return wrong(key_, "1");
    if (is_count_of_likeliest()) {
      if (value > most_likeliest) return wrong_likeliest();
      request.logprobs = static_cast<std::uint32_t>(value);
    } else if (is_top("logprobs") || (level_ == 2 && top_ == "stop_token_ids")) {
      report_unsupported(top_);
    } else if (value > 0 && (is_top("top_logprobs") || is_top("n_probs"))) {
      report_unsupported(top_);
    }
    return top_or_pass();
  }
  bool Double(double value) {
    if (at_stop()) return wrong_stop();
    if (is_prompt()) return wrong(prompt_key(), "no fractions");
    if (is_flag()) return wrong_flag();
    // Some clients write whole numbers so; those that exceed 64 bits come here, too.
    if (is_whole()) {
      constexpr double most_exact = 1ull << 53;
      if (value != std::floor(value) || std::abs(value) > most_exact) {
        return wrong(key_, "a whole number of 64 bits");
      }
      return value < 0 ? Int64(static_cast<std::int64_t>(value))
                       : Uint64(static_cast<std::uint64_t>(value));
    }
    check_supported(fmt::format("{}", value));
    return read_sampling(value) && top_or_pass();
  }
  bool String(const char* begin, rapidjson::SizeType length, bool) {
    const std::string_view value(begin, length);
    if (is_top("model")) request.model = value;
    if (is_in("response_format", "type") && value != "text") report_unsupported(top_);
    if (length > 0 && (is_top("suffix") || is_top("grammar"))) report_unsupported(top_);
    if (at_stop()) return stop(value);
    if (is_number()) return wrong(key_, "a number");
    if (is_flag()) return wrong_flag();
    check_supported(value);
    if (is_part_of_message("type") && value != "text")
      report_unsupported(shown_line(value, most_shown));
    if (is_message_text()) {
      message_ += value;
    } else if (is_in_message("role")) {
      role_ = value;
    } else if (is_prompt()) {
      return text(value);
    }
    return top_or_pass();
  }
  bool StartObject() {
    if (level_ == 0) return enter();
    if (is_prompt() && dialect_ != Dialect::chat) return wrong(prompt_key(), "no objects");
    if (at_stop()) return wrong_stop();
    if (is_number()) return wrong(key_, "a number");
    if (is_flag()) return wrong_flag();
    if (level_ == 4 && is_messages() && key_ == "tool_calls") report_unsupported(key_);
    if (level_ == 2 && (top_ == "tools" || top_ == "functions")) report_unsupported(top_);
    if (is_top("json_schema")) report_unsupported(top_);
    if (is_in("parameters", "grammar")) report_unsupported(key_);
    if (level_ == 2 && is_messages()) {
      role_.clear();
      message_.clear();
    }
    return enter();
  }
  bool EndObject(rapidjson::SizeType) {
    if (level_ == 3 && is_messages()) text_.append_message(role_, message_, prompt(0));
    return leave();
  }
  bool StartArray() {
    if (level_ == 0) return fail("the body must be a JSON object");
    if (in_stops_) return wrong_stop();
    if (is_number()) return wrong(key_, "a number");
    if (is_flag()) return wrong_flag();
    in_stops_ = at_stop();
    if (level_ == 2 && top_ == "logit_bias") report_unsupported(top_);
    // In dialect chat, text is nested deeper; in the others, an array within an array begins
    // another prompt.
    if (is_prompt() && level_ == 2 && ++nested_ > most_prompts) {
      return wrong(prompt_key(), fmt::format("at most {} prompts", most_prompts));
    }
    if (is_prompt() && level_ > 2) return wrong(prompt_key(), kinds_of_prompts);
    if (is_prompt() && level_ == 2) {
      if (nested_ == 1 && !request.prompts.empty()) return mixed();
      prompt(nested_ - 1);  // create it even if it stays empty
    }
    return enter();
  }
  bool EndArray(rapidjson::SizeType) {
    in_stops_ = false;
    return leave();
  }
  bool Key(const char* begin, rapidjson::SizeType length, bool) {
    key_.assign(begin, length);
    if (level_ == 1) {
      top_ = key_;
      if (top_ == prompt_key() && std::exchange(has_prompt_, true)) {
        return wrong(prompt_key(), "one value; it is given twice");
      }
    }
    const bool in_parameters = dialect_ == Dialect::tgi && level_ == 2 && top_ == "parameters";
    if (level_ == 1 || in_parameters) field_ = key_;
    if (level_ == 2 && top_ == "logit_bias") report_unsupported(top_);
    return true;
  }

 private:
  std::string_view prompt_key() const {
    return dialect_ == Dialect::chat ? "messages" : dialect_ == Dialect::tgi ? "inputs" : "prompt";
  }
  bool is_top(std::string_view name) const { return level_ == 1 && top_ == name; }
  bool is_in(std::string_view outer, std::string_view name) const {
    return level_ == 2 && top_ == outer && key_ == name;
  }
  bool is_prompt() const {
    return dialect_ != Dialect::chat && level_ >= 1 && top_ == prompt_key();
  }
  bool is_messages() const { return dialect_ == Dialect::chat && top_ == "messages"; }
  bool is_in_message(std::string_view name) const {
    return level_ == 3 && is_messages() && key_ == name;
  }
  bool is_message_text() const {
    return level_ >= 3 && is_messages() && (key_ == "content" || key_ == "text");
  }
  bool is_sampling(std::string_view name) const {
    return dialect_ == Dialect::tgi ? is_in("parameters", name) : is_top(name);
  }
  bool is_part_of_message(std::string_view name) const {
    return level_ == 5 && is_messages() && key_ == name;
  }
  bool is_count_of_one() const { return is_top("n") || is_sampling("best_of"); }
  bool is_count_of_likeliest() const {
    return dialect_ == Dialect::completions ? is_top("logprobs")
                                            : dialect_ == Dialect::chat && is_top("top_logprobs");
  }
  bool wrong_likeliest() { return wrong(key_, fmt::format("between 0 and {}", most_likeliest)); }
  bool is_whole() const {
    return is_limit() || is_count_of_likeliest() || is_count_of_one() || is_top("min_tokens") ||
           is_sampling("seed");
  }
  /// A field whose value steers how tokens are generated, and is a number.
  bool is_number() const {
    return is_whole() || is_sampling("temperature") || is_sampling("top_p");
  }
  bool is_flag() const {
    return is_top("stream") || is_top("ignore_eos") || is_top("return_token_ids") ||
           is_top("echo") || (is_top("logprobs") && dialect_ == Dialect::chat) ||
           is_in("stream_options", "include_usage") ||
           is_in("stream_options", "continuous_usage_stats");
  }
  bool wrong_flag() { return wrong(key_, "true or false"); }
  void check_supported(std::string_view value) {
    if (is_unsupported(field_, value)) report_unsupported(field_);
  }
  bool read_sampling(double value) {
    if (is_sampling("temperature")) {
      if (value < 0 || value > most_temperature) {
        return wrong(key_, fmt::format("between 0 and {}", most_temperature));
      }
      request.sampling.temperature = value;
    }
    if (is_sampling("top_p")) {
      if (value <= 0 || value > 1) return wrong(key_, "above 0 and at most 1");
      request.sampling.top_p = value;
    }
    if (is_sampling("presence_penalty") || is_sampling("frequency_penalty")) {
      if (value < -2 || value > 2) return wrong(key_, "between -2 and 2");
      (key_[0] == 'p' ? request.sampling.presence_penalty : request.sampling.frequency_penalty) =
          value;
    }
    if (is_sampling("repetition_penalty")) {
      if (value < 0.01 || value > 100) return wrong(key_, "between 0.01 and 100");
      request.sampling.repetition_penalty = value;
    }
    // llama.cpp's counts some of the last tokens only.
    if (is_sampling("repeat_penalty") && value != 1) report_unsupported(key_);
    if (is_sampling("min_p")) {
      if (value < 0 || value > 1) return wrong(key_, "between 0 and 1");
      request.sampling.min_p = value;
    }
    if (is_sampling("top_k") && value > 0) {
      request.sampling.top_k = static_cast<std::uint64_t>(std::min(value, most_top_k));
    }
    return true;
  }
  /// The field's value, or one in its list.
  bool at_stop() const { return in_stops_ || is_sampling("stop"); }
  bool stop(std::string_view text) {
    if (text.empty() || text.size() > most_stop_bytes || request.stops.size() == most_stops) {
      return wrong_stop();
    }
    request.stops.emplace_back(text);
    return true;
  }
  bool wrong_stop() {
    return wrong("stop", fmt::format("a text or a list of them, at most {} of 1 to {} bytes",
                                     most_stops, most_stop_bytes));
  }
  void report_unsupported(const std::string& field) {
    if (request.unsupported.empty()) request.unsupported = field;
  }
  bool is_limit() const {
    switch (dialect_) {
      case Dialect::completions:
        return is_top("max_tokens");
      case Dialect::chat:
        return is_top("max_tokens") || is_top("max_completion_tokens");
      case Dialect::llama_cpp:
        return is_top("n_predict") || is_top("max_tokens");
      case Dialect::tgi:
        return is_in("parameters", "max_new_tokens");
    }
    return false;
  }

  /// Accepts a value inside the object; a bare value as the whole body is an error.
  bool top_or_pass() { return level_ > 0 || fail("the body must be a JSON object"); }
  bool enter() { return ++level_ <= most_levels || fail("the body is nested too deeply"); }
  bool leave() {
    --level_;
    return true;
  }
  bool fail(std::string message) {
    problem = std::move(message);
    return false;
  }
  bool wrong(std::string_view field, std::string_view allowed) {
    return fail(fmt::format("field \"{}\" allows {}", field, allowed));
  }

  /// Refuses a list that mixes texts, token ids and lists of them, because nothing tells which of
  /// them begin a prompt. llama.cpp joins texts and token ids.
  bool mixed() {
    return fail(fmt::format("field \"{}\" allows, in one list, only what its first element is",
                            prompt_key()));
  }

  std::vector<std::uint32_t>& prompt(std::size_t index) {
    if (request.prompts.size() <= index) request.prompts.resize(index + 1);
    return request.prompts[index];
  }
  /// The ids of a flat list form one prompt; each nested list is a prompt of its own.
  bool token(std::uint64_t id) {
    if (dialect_ == Dialect::tgi) return wrong(prompt_key(), "a text");
    if (level_ == 1) return wrong(prompt_key(), kinds_of_prompts);
    if (id > UINT32_MAX) return wrong(prompt_key(), "token ids below 2^32");
    const bool after_texts = !request.ids && !request.prompts.empty();
    if (level_ == 2 && (nested_ > 0 || (after_texts && dialect_ != Dialect::llama_cpp))) {
      return mixed();
    }
    request.ids = true;
    prompt(level_ == 3 ? nested_ - 1 : 0).push_back(static_cast<std::uint32_t>(id));
    return true;
  }
  /// Each text of a list is a prompt of its own; llama.cpp joins them.
  bool text(std::string_view value) {
    if (dialect_ == Dialect::tgi && level_ > 1) return wrong(prompt_key(), "a text");
    if (level_ > 2) return wrong(prompt_key(), kinds_of_prompts);
    const bool another = level_ == 2 && dialect_ != Dialect::llama_cpp;
    if (nested_ > 0 || (another && request.ids)) return mixed();
    if (another && request.prompts.size() >= most_prompts) {
      return wrong(prompt_key(), fmt::format("at most {} prompts", most_prompts));
    }
    text_.append(value, prompt(another ? request.prompts.size() : 0));
    return true;
  }

  Dialect dialect_;
  const TextTokens& text_;
  int level_ = 0;
  std::string top_, key_;
  std::string field_;  // a field about generation: of the top level, for TGI in `parameters`
  std::string role_, message_;  // role and text of the message that is read
  bool in_stops_ = false;       // in the list of them
  bool has_prompt_ = false;
  bool logprobs_ = false;  // whether a chat's are wanted
  std::size_t nested_ = 0;
};

}  // namespace

Result<GenerationRequest> parse_generation(std::string_view body, Dialect dialect,
                                           const TextTokens& text) {
  FieldReader reader(dialect, text);
  rapidjson::MemoryStream stream(body.data(), body.size());
  rapidjson::Reader parser;
  // The reader stops at its depth, so the parser's recursion has a bound.
  parser.Parse<rapidjson::kParseValidateEncodingFlag>(stream, reader);
  const bool parsed = !parser.HasParseError() && stream.Tell() == body.size();
  if (parsed) reader.finish();
  if (!reader.problem.empty()) return Error{ErrorKind::usage, reader.problem};
  if (!parsed) {
    return Error{ErrorKind::usage,
                 fmt::format("the body is not JSON: error at byte {}", stream.Tell())};
  }
  GenerationRequest& request = reader.request;
  const bool none = request.prompts.empty();
  if (dialect == Dialect::chat && !none) text.end_chat(request.prompts.front());
  for (const auto& prompt : request.prompts) {
    if (prompt.empty()) return Error{ErrorKind::usage, "a prompt is empty"};
  }
  if (none) {
    return Error{ErrorKind::usage, fmt::format("field \"{}\" is missing or empty",
                                               dialect == Dialect::chat  ? "messages"
                                               : dialect == Dialect::tgi ? "inputs"
                                                                         : "prompt")};
  }
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    return Error{ErrorKind::usage,
                 fmt::format("min_tokens must be less than or equal to max_tokens={}, got {}",
                             *request.max_tokens, request.min_tokens)};
  }
  return std::move(request);
}

Result<std::vector<std::uint32_t>> tokens_of_prompt(std::string_view body, const TextTokens& text) {
  GenerationRequest request = TRY(parse_generation(body, Dialect::completions, text));
  return std::move(request.prompts.front());
}

}  // namespace assay::server
