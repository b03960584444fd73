#include "serving/server/reply_format.h"

#include <fmt/ranges.h>

#include <chrono>
#include <iterator>

#include "core/fmt_compiled.h"

namespace assay::server {
namespace {

std::string_view name_of(Finish finish, std::string_view length, std::string_view end_token,
                         std::string_view stop_text) {
  switch (finish) {
    case Finish::end_token:
      return end_token;
    case Finish::stop_text:
      return stop_text;
    default:
      return length;
  }
}
std::string_view openai_name(Finish finish) {
  return name_of(finish, "length", "stop", "stop");
}

/// OpenAI's two endpoints, in vLLM's words.
class OpenAiFormat final : public ReplyFormat {
 public:
  OpenAiFormat(bool chat, ReplyFacts facts) : chat_(chat), facts_(std::move(facts)) {
    head_ = fmt::format("data: {},\"choices\":[",
                        base(chat ? "chat.completion.chunk" : "text_completion"));
  }
  bool has_opening() const override { return chat_; }
  void opening(std::size_t choice, std::string& out) const override {
    out += head_;
    fmt::format_to(std::back_inserter(out),
                   "{{\"index\":{},\"delta\":{{\"role\":\"assistant\",\"content\":\"\"}},"
                   "\"logprobs\":null,\"finish_reason\":null}}]",
                   choice);
    running_usage(0, out);
    out += "}\n\n";
  }
  void token(const TokenEvent& token, std::string& out) const override {
    out += head_;
    out += "{\"index\":";
    out += fmt::format_int(token.choice).c_str();
    out += chat_ ? ",\"delta\":{\"content\":\"" : ",\"text\":\"";
    out += token.text;
    out += chat_ ? "\"},\"logprobs\":" : "\",\"logprobs\":";
    append_logprobs({token.logprobs, token.logprobs != nullptr ? 1u : 0u}, token.offset, out);
    out += ",\"finish_reason\":";
    if (token.last) {
      out += '"';
      out += openai_name(token.finish);
      out += '"';
    } else {
      out += "null";
    }
    out += ",\"stop_reason\":null";
    if (facts_.return_ids) append_ids({&token.id, 1}, out);
    out += "}]";
    running_usage(token.number, out);
    if (facts_.stamps) stamp(out);
    out += "}\n\n";
  }
  void usage(std::uint64_t tokens, std::string& out) const override {
    if (!facts_.usage) return;
    out += head_;
    out += "],";
    append_usage(tokens, out);
    out += "}\n\n";
  }
  void done(std::uint64_t, Finish, std::string& out) const override { out += "data: [DONE]\n\n"; }
  std::string whole(std::span<const ChoiceText> choices, std::uint64_t tokens) const override {
    std::string out = base(chat_ ? "chat.completion" : "text_completion") + ",\"choices\":[";
    for (std::size_t index = 0; index < choices.size(); ++index) {
      const ChoiceText& choice = choices[index];
      out += fmt::format("{}{{\"index\":{},", index == 0 ? "" : ",", index);
      out += chat_ ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"text\":\"";
      out += choice.text;
      out += chat_ ? "\"}" : "\"";
      out += ",\"logprobs\":";
      append_logprobs(choice.logprobs, 0, out);
      out +=
          fmt::format(",\"finish_reason\":\"{}\",\"stop_reason\":null", openai_name(choice.finish));
      if (facts_.return_ids) append_ids(choice.ids, out);
      out += '}';
    }
    out += ']';
    if (facts_.usage) {
      out += ',';
      append_usage(tokens, out);
    }
    return out + "}";
  }

 private:
  /// An object that is not closed yet.
  std::string base(std::string_view object) const {
    return fmt::format("{{\"id\":\"{}-{}\",\"object\":\"{}\",\"created\":{},\"model\":\"{}\"",
                       chat_ ? "chatcmpl" : "cmpl", facts_.request, object, facts_.created,
                       facts_.model);
  }
  void append_usage(std::uint64_t tokens, std::string& out) const {
    fmt::format_to(
        std::back_inserter(out),
        "\"usage\":{{\"prompt_tokens\":{},\"total_tokens\":{},\"completion_tokens\":{}}}",
        facts_.prompt_tokens, facts_.prompt_tokens + tokens, tokens);
  }
  /// Appends null for no tokens.
  void append_logprobs(std::span<const ChosenLogprobs> tokens, std::uint64_t offset,
                       std::string& out) const {
    if (tokens.empty()) {
      out += "null";
    } else if (chat_) {
      append_chat_logprobs(tokens, out);
    } else {
      append_completion_logprobs(tokens, offset, out);
    }
  }
  static void append_ids(std::span<const std::uint32_t> ids, std::string& out) {
    fmt::format_to(std::back_inserter(out), ",\"token_ids\":[{}]", fmt::join(ids, ","));
  }
  /// Uses the clock that all processes of a machine share.
  static void stamp(std::string& out) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    out += ",\"sim_sent_ns\":";
    out += fmt::format_int(std::chrono::nanoseconds(now).count()).c_str();
  }
  void running_usage(std::uint64_t tokens, std::string& out) const {
    if (!facts_.usage || !facts_.continuous_usage) return;
    out += ',';
    append_usage(tokens, out);
  }

  bool chat_;
  ReplyFacts facts_;
  std::string head_;
};

/// llama.cpp's own endpoint. Its end marker is an event with all counts.
class LlamaCppFormat final : public ReplyFormat {
 public:
  explicit LlamaCppFormat(ReplyFacts facts) : facts_(std::move(facts)) {}
  void token(const TokenEvent& token, std::string& out) const override {
    fmt::format_to(std::back_inserter(out),
                   "data: {{\"index\":{},\"content\":\"{}\",\"stop\":false,\"id_slot\":0,"
                   "\"tokens_predicted\":{},\"tokens_evaluated\":{}}}\n\n",
                   token.choice, token.text, token.number, facts_.prompt_tokens);
  }
  void usage(std::uint64_t, std::string&) const override {}  // is in the end mark
  void done(std::uint64_t tokens, Finish finish, std::string& out) const override {
    out += "data: " + end_object(tokens, "", finish) + "\n\n";
  }
  std::string whole(std::span<const ChoiceText> choices, std::uint64_t tokens) const override {
    return end_object(tokens, choices.front().text, choices.front().finish);
  }

 private:
  std::string end_object(std::uint64_t tokens, std::string_view text, Finish finish) const {
    std::string counts;
    if (facts_.usage) {
      counts = fmt::format(
          ",\"tokens_predicted\":{0},\"tokens_evaluated\":{1},"
          "\"timings\":{{\"prompt_n\":{1},\"predicted_n\":{0}}}",
          tokens, facts_.prompt_tokens);
    }
    return fmt::format(
        "{{\"index\":0,\"content\":\"{}\",\"id_slot\":0,\"stop\":true,\"model\":\"{}\","
        "\"stop_type\":\"{}\",\"truncated\":false{}}}",
        text, facts_.model, name_of(finish, "limit", "eos", "word"), counts);
  }

  ReplyFacts facts_;
};

/// Text Generation Inference: the last token's event has the whole text and the counts.
class TgiFormat final : public ReplyFormat {
 public:
  explicit TgiFormat(ReplyFacts facts) : facts_(std::move(facts)) {}
  void token(const TokenEvent& token, std::string& out) const override {
    const std::string end =
        token.last ? fmt::format("\"{}\",\"details\":{}", token.whole->text, details(*token.whole))
                   : "null,\"details\":null";
    fmt::format_to(std::back_inserter(out),
                   "data:{{\"index\":{},\"token\":{{\"id\":{},\"text\":\"{}\",\"logprob\":null,"
                   "\"special\":false}},\"generated_text\":{}}}\n\n",
                   token.number, token.id, token.text, end);
  }
  void usage(std::uint64_t, std::string&) const override {}  // is in the last token's event
  bool has_end_mark() const override { return false; }
  bool needs_whole() const override { return true; }
  void done(std::uint64_t, Finish, std::string&) const override {}
  std::string whole(std::span<const ChoiceText> choices, std::uint64_t) const override {
    return fmt::format("{{\"generated_text\":\"{}\",\"details\":{}}}", choices.front().text,
                       details(choices.front()));
  }

 private:
  std::string details(const ChoiceText& choice) const {
    if (!facts_.usage) return "null";
    return fmt::format(
        "{{\"finish_reason\":\"{}\",\"generated_tokens\":{},\"seed\":null,\"input_length\":{}}}",
        name_of(choice.finish, "length", "eos_token", "stop_sequence"), choice.tokens,
        facts_.prompt_tokens);
  }

  ReplyFacts facts_;
};

}  // namespace

std::unique_ptr<ReplyFormat> make_reply_format(Dialect dialect, ReplyFacts facts) {
  switch (dialect) {
    case Dialect::completions:
    case Dialect::chat:
      return std::make_unique<OpenAiFormat>(dialect == Dialect::chat, std::move(facts));
    case Dialect::llama_cpp:
      return std::make_unique<LlamaCppFormat>(std::move(facts));
    case Dialect::tgi:
      return std::make_unique<TgiFormat>(std::move(facts));
  }
  return nullptr;
}

}  // namespace assay::server
