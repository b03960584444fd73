// Conversations as text, written as models' chat templates do. These are Jinja programs, which are
// not run here: the well-known ones are recognised by what they contain.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/tokenizer/tokenizer.h"

namespace assay {

struct ChatMessage {
  std::string role;  ///< system, user or assistant
  std::string content;
};

/// A part of a conversation's text.
struct ChatPart {
  std::string text;
  bool is_reply = false;  ///< what the model says, with the token that ends it
};

class ChatTemplate {
 public:
  enum class Form {
    chatml,  ///< Qwen 2, 2.5 and 3: <|im_start|>ROLE\nTEXT<|im_end|>\n
    llama3,  ///< <|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>
    alpaca,  ///< ### Instruction: and ### Response:, without special tokens
  };

  explicit ChatTemplate(Form form) : form_(form) {}
  /// Error: usage, naming those that are known.
  static Result<ChatTemplate> named(std::string_view name);
  /// The template of a model: of chat_template.jinja or tokenizer_config.json in its folder. Error:
  /// as read_operand(); usage, naming the file, if there is none or it is not known.
  static Result<ChatTemplate> of_model(const std::filesystem::path& folder);
  /// Reads the Jinja program. Error: usage, without a file.
  static Result<ChatTemplate> recognise(std::string_view jinja);

  /// Error: usage, if the tokenizer lacks a special token of the template.
  Status check(const Tokenizer& tokenizer) const;
  /// The system message at the beginning of a conversation with the one in `given`, or without one
  /// (nullopt); empty, if none is written.
  std::string system_message(std::optional<std::string_view> given) const;
  /// The content of a message that a reply follows, as the template writes it.
  std::string_view content(std::string_view role, std::string_view given) const;
  /// `end_of_text`: what ends a reply of a form without special tokens.
  std::vector<ChatPart> render(std::span<const ChatMessage> messages,
                               std::string_view end_of_text) const;
  /// A prompt and its reply; `input`, which may be empty, is what the instruction is about.
  std::vector<ChatMessage> conversation(std::string_view instruction, std::string_view input,
                                        std::string_view output) const;

  Form form() const { return form_; }
  /// All that render() depends on, as a key of caches.
  std::string key() const;

 private:
  class Parts;
  void render_chatml(std::span<const ChatMessage> messages, Parts& parts) const;
  void render_llama3(std::span<const ChatMessage> messages, Parts& parts) const;
  void render_alpaca(std::span<const ChatMessage> messages, std::string_view end_of_text,
                     Parts& parts) const;

  Form form_;
  std::string default_system_;  // the system message of a conversation that has none
  std::string date_;            // Llama 3.1 and later tell it to the model; empty: not told
  bool thinks_ = false;         // Qwen 3 puts the thoughts before the last reply, also if empty
};

}  // namespace assay
