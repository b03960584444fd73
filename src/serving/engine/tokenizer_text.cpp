#include "serving/engine/tokenizer_text.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace assay::engine {
namespace {

/// How a token beyond those of the tokenizer reads.
std::string unknown_token(std::uint32_t token) {
  return fmt::format("<|{}|>", token);
}

class TokenizerStream final : public server::TextStream {
 public:
  explicit TokenizerStream(const Tokenizer& tokenizer)
      : vocabulary_(tokenizer.vocabulary()), decoder_(tokenizer) {}

  void append(std::uint32_t token, std::string& text) override {
    if (token < vocabulary_) {
      text += decoder_.add(static_cast<std::int32_t>(token));
      return;
    }
    text += decoder_.finish();
    text += unknown_token(token);
  }
  void end(std::string& text) override { text += decoder_.finish(); }

 private:
  const std::int64_t vocabulary_;
  StreamingDecoder decoder_;
};

}  // namespace

TokenizerText::TokenizerText(Tokenizer tokenizer, std::optional<ChatTemplate> chat_template)
    : tokenizer_(std::move(tokenizer)),
      frame_(frame_of(tokenizer_)),
      template_(std::move(chat_template)) {}

/// Recognises the chat templates of Llama 3 and of Qwen by their special tokens.
TokenizerText::Frame TokenizerText::frame_of(const Tokenizer& tokenizer) {
  if (tokenizer.find("<|start_header_id|>") && tokenizer.find("<|eot_id|>")) {
    return {"<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"};
  }
  if (tokenizer.find("<|im_start|>") && tokenizer.find("<|im_end|>")) {
    return {"<|im_start|>", "\n", "<|im_end|>\n"};
  }
  return {"", ": ", "\n"};
}

void TokenizerText::append(std::string_view text, std::vector<std::uint32_t>& tokens) const {
  if (tokens.empty()) tokens.assign(tokenizer_.begin().begin(), tokenizer_.begin().end());
  const std::vector<std::int32_t> ids = tokenizer_.encode(text);
  tokens.insert(tokens.end(), ids.begin(), ids.end());
}

/// A conversation begins as the model's template begins it, with which it was trained.
void TokenizerText::append_message(std::string_view role, std::string_view text,
                                   std::vector<std::uint32_t>& tokens) const {
  if (!template_) return append_framed(role, text, tokens);
  const std::string_view content = template_->content(role, text);
  if (!tokens.empty()) return append_framed(role, content, tokens);
  if (role == "system") return append_framed(role, template_->system_message(content), tokens);
  const std::string system = template_->system_message({});
  if (!system.empty()) append_framed("system", system, tokens);
  append_framed(role, content, tokens);
}

void TokenizerText::append_framed(std::string_view role, std::string_view text,
                                  std::vector<std::uint32_t>& tokens) const {
  append(fmt::format("{}{}{}{}{}", frame_.before_role, role, frame_.after_role, text,
                     frame_.after_text),
         tokens);
}

void TokenizerText::end_chat(std::vector<std::uint32_t>& tokens) const {
  // Without the blank at its end, which a model puts before its own text.
  const bool plain = frame_.before_role.empty();
  append(fmt::format("{}assistant{}", frame_.before_role, plain ? ":" : frame_.after_role), tokens);
}

std::string TokenizerText::bytes_of(std::uint32_t token) const {
  if (token >= static_cast<std::uint64_t>(vocabulary())) return unknown_token(token);
  return std::string(tokenizer_.written(static_cast<std::int32_t>(token)));
}

std::unique_ptr<server::TextStream> TokenizerText::stream() const {
  return std::make_unique<TokenizerStream>(tokenizer_);
}

Status TokenizerText::check(std::int64_t vocabulary) const {
  std::vector<std::uint32_t> tokens;
  append("", tokens);
  if (!frame_.before_role.empty()) append_message("", "", tokens);
  for (const std::uint32_t token : tokens) {
    if (token < vocabulary) continue;
    return Error{ErrorKind::usage,
                 fmt::format("the tokenizer puts token {} into every text or chat, and the model "
                             "has the tokens 0 to {} only; give the model's own --tokenizer",
                             token, vocabulary - 1)};
  }
  return {};
}

std::vector<std::uint32_t> TokenizerText::end_tokens() const {
  std::vector<std::uint32_t> tokens;
  for (const char* written : {"<|eot_id|>", "<|end_of_text|>", "<|im_end|>", "<|endoftext|>"}) {
    if (const auto token = tokenizer_.find(written)) {
      tokens.push_back(static_cast<std::uint32_t>(*token));
    }
  }
  return tokens;
}

}  // namespace assay::engine
