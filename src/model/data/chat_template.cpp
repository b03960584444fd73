#include "model/data/chat_template.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <system_error>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace assay {
namespace {

using Form = ChatTemplate::Form;

struct KnownForm {
  Form form;
  std::string_view name;
  std::vector<std::string_view> special_tokens;
};

const std::array<KnownForm, 3>& known_forms() {
  static const std::array<KnownForm, 3> all = {
      {{Form::chatml, "chatml", {"<|im_start|>", "<|im_end|>"}},
       {Form::llama3,
        "llama3",
        {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
       {Form::alpaca, "alpaca", {}}}};
  return all;
}

const KnownForm& known_form(Form form) {
  return known_forms()[static_cast<std::size_t>(form)];
}

constexpr std::string_view allowed = "allowed: chatml, llama3 and alpaca";

/// The text of a Jinja program after `before` and up to `after`. Neither it nor `before` contains a
/// quote or a brace, so that it is one literal.
std::optional<std::string> literal_between(std::string_view jinja, std::string_view before,
                                           std::string_view after) {
  for (std::size_t at = jinja.find(before); at != std::string_view::npos;
       at = jinja.find(before, at + 1)) {
    const std::string_view rest = jinja.substr(at + before.size());
    const std::size_t end = rest.find(after);
    const std::string_view found = rest.substr(0, end);
    if (end == std::string_view::npos || found.empty()) continue;
    if (found.find_first_of("'\"{}") == std::string_view::npos) return std::string(found);
  }
  return std::nullopt;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The chat template in tokenizer_config.json; nullopt if it has none.
Result<std::optional<std::string>> template_in(std::string_view config) {
  const Json json = TRY(parse_json(config));
  if (!json.is_object()) return Error{ErrorKind::usage, "is no JSON object"};
  const auto found = json.find("chat_template");
  if (found == json.end() || found->is_null()) return std::optional<std::string>();
  if (found->is_string()) return std::optional(found->get<std::string>());
  // Several templates have names.
  if (found->is_array()) {
    for (const Json& one : *found) {
      if (one.is_object() && one.value("name", Json()) == "default" && one.contains("template") &&
          one["template"].is_string()) {
        return std::optional(one["template"].get<std::string>());
      }
    }
  }
  return Error{ErrorKind::usage,
               "its \"chat_template\" is neither a text nor a list with a "
               "\"default\""};
}

/// What Qwen 3 writes before a reply, and the reply without its thoughts.
struct Thoughts {
  std::string_view thoughts, reply;
};

Thoughts thoughts_in(std::string_view content) {
  constexpr std::string_view begin = "<think>", end = "</think>";
  const std::size_t at = content.find(end);
  if (at == std::string_view::npos) return {"", content};
  const auto without_lines = [](std::string_view text) {
    while (text.starts_with('\n')) text.remove_prefix(1);
    while (text.ends_with('\n')) text.remove_suffix(1);
    return text;
  };
  std::string_view thoughts = content.substr(0, at);
  if (const std::size_t begun = thoughts.rfind(begin); begun != std::string_view::npos) {
    thoughts.remove_prefix(begun + begin.size());
  }
  std::string_view reply = content.substr(at + end.size());
  while (reply.starts_with('\n')) reply.remove_prefix(1);
  return {without_lines(thoughts), reply};
}

}  // namespace

/// Parts of a conversation, of which neighbours that are no replies are one.
class ChatTemplate::Parts {
 public:
  void add(std::string_view text, bool is_reply = false) {
    if (!is_reply && !all_.empty() && !all_.back().is_reply) {
      all_.back().text += text;
    } else if (!text.empty()) {
      all_.push_back({std::string(text), is_reply});
    }
  }
  std::vector<ChatPart> take() { return std::move(all_); }

 private:
  std::vector<ChatPart> all_;
};

Result<ChatTemplate> ChatTemplate::named(std::string_view name) {
  for (const KnownForm& known : known_forms()) {
    if (known.name == name) return ChatTemplate(known.form);
  }
  return Error{ErrorKind::usage,
               fmt::format("the chat template {} is not known, {}", shown_line(name, 60), allowed)};
}

Result<ChatTemplate> ChatTemplate::of_model(const std::filesystem::path& folder) {
  constexpr std::size_t most = 16 << 20;
  const auto in_file = [](const std::filesystem::path& path, const std::string& what) {
    return Error{ErrorKind::usage, fmt::format("{}: {}", path.string(), what)};
  };
  std::filesystem::path path = folder / "chat_template.jinja";
  std::optional<std::string> jinja;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    jinja = TRY(read_operand(path, most));
  } else if (path = folder / "tokenizer_config.json"; std::filesystem::exists(path, ignored)) {
    const std::string config = TRY(read_operand(path, most));
    auto found = template_in(config);
    if (!found.ok()) return in_file(path, found.error().message);
    jinja = std::move(*found);
  }
  if (!jinja) {
    return in_file(folder, fmt::format("the model has no chat template in tokenizer_config.json; "
                                       "name the one to use, {}",
                                       allowed));
  }
  auto recognised = recognise(*jinja);
  if (!recognised.ok()) return in_file(path, recognised.error().message);
  return recognised;
}

Result<ChatTemplate> ChatTemplate::recognise(std::string_view jinja) {
  if (contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>") &&
      !contains(jinja, "<|im_sep|>")) {
    ChatTemplate made(Form::chatml);
    for (const std::string_view line_end : {"\\n", "\n"}) {
      const std::string before = fmt::format("<|im_start|>system{}", line_end);
      const auto system = literal_between(jinja, before, "<|im_end|>");
      if (system) made.default_system_ = *system;
    }
    made.thinks_ = contains(jinja, "reasoning_content") && contains(jinja, "</think>");
    return made;
  }
  if (contains(jinja, "<|start_header_id|>") && contains(jinja, "<|end_header_id|>") &&
      contains(jinja, "<|eot_id|>")) {
    ChatTemplate made(Form::llama3);
    if (contains(jinja, "Cutting Knowledge Date: December 2023")) {
      // The program may ask for today's date, with which the same data would be other tokens
      // tomorrow. It is always the date that it has for the case that nobody tells one.
      made.date_ = literal_between(jinja, "date_string = \"", "\"").value_or("26 Jul 2024");
    }
    return made;
  }
  return Error{ErrorKind::usage, fmt::format("its chat template is none that is known; name the "
                                             "one to use, {}",
                                             allowed)};
}

Status ChatTemplate::check(const Tokenizer& tokenizer) const {
  const KnownForm& known = known_form(form_);
  for (const std::string_view token : known.special_tokens) {
    if (tokenizer.find(token)) continue;
    return Error{ErrorKind::usage,
                 fmt::format("the tokenizer has no token {}, which the chat template {} needs; "
                             "name the template to use, {}",
                             token, known.name, allowed)};
  }
  return {};
}

std::vector<ChatPart> ChatTemplate::render(std::span<const ChatMessage> messages,
                                           std::string_view end_of_text) const {
  Parts parts;
  switch (form_) {
    case Form::chatml:
      render_chatml(messages, parts);
      break;
    case Form::llama3:
      render_llama3(messages, parts);
      break;
    case Form::alpaca:
      render_alpaca(messages, end_of_text, parts);
      break;
  }
  return parts.take();
}

std::string_view ChatTemplate::content(std::string_view role, std::string_view given) const {
  if (thinks_ && role == "assistant") return thoughts_in(given).reply;
  return form_ == Form::llama3 ? trim(given) : given;
}

std::string ChatTemplate::system_message(std::optional<std::string_view> given) const {
  if (date_.empty()) return std::string(given.value_or(default_system_));
  return fmt::format("Cutting Knowledge Date: December 2023\nToday Date: {}\n\n{}", date_,
                     content("system", given.value_or("")));
}

void ChatTemplate::render_chatml(std::span<const ChatMessage> messages, Parts& parts) const {
  if (messages.empty() || messages.front().role != "system") {
    const std::string system = system_message({});
    if (!system.empty()) parts.add(fmt::format("<|im_start|>system\n{}<|im_end|>\n", system));
  }
  for (const ChatMessage& message : messages) {
    parts.add(fmt::format("<|im_start|>{}\n", message.role));
    if (message.role != "assistant") {
      parts.add(message.content + "<|im_end|>\n");
      continue;
    }
    std::string content = message.content;
    if (thinks_) {
      const auto [thoughts, reply] = thoughts_in(message.content);
      const bool is_last = &message == &messages.back();
      content = is_last ? fmt::format("<think>\n{}\n</think>\n\n{}", thoughts, reply)
                        : std::string(reply);
    }
    parts.add(content + "<|im_end|>", true);
    parts.add("\n");
  }
}

void ChatTemplate::render_llama3(std::span<const ChatMessage> messages, Parts& parts) const {
  const auto header = [](std::string_view role) {
    return fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n", role);
  };
  parts.add("<|begin_of_text|>");
  if (!date_.empty()) {
    const bool has_system = !messages.empty() && messages.front().role == "system";
    std::optional<std::string_view> given;
    if (has_system) given = messages.front().content;
    parts.add(header("system") + system_message(given) + "<|eot_id|>");
    messages = messages.subspan(has_system ? 1 : 0);
  }
  for (const ChatMessage& message : messages) {
    parts.add(header(message.role));
    parts.add(fmt::format("{}<|eot_id|>", content(message.role, message.content)),
              message.role == "assistant");
  }
}

void ChatTemplate::render_alpaca(std::span<const ChatMessage> messages,
                                 std::string_view end_of_text, Parts& parts) const {
  // The prompts of Stanford Alpaca's train.py.
  std::string_view before =
      "Below is an instruction that describes a task. Write a response that appropriately "
      "completes the request.\n\n";
  for (const ChatMessage& message : messages) {
    if (message.role == "assistant") {
      parts.add("### Response:\n");
      parts.add(fmt::format("{}{}", message.content, end_of_text), true);
    } else if (message.role == "system") {
      parts.add(message.content);
    } else {
      parts.add(fmt::format("{}### Instruction:\n{}\n\n", before, message.content));
    }
    before = "\n\n";
  }
}

std::vector<ChatMessage> ChatTemplate::conversation(std::string_view instruction,
                                                    std::string_view input,
                                                    std::string_view output) const {
  std::vector<ChatMessage> messages;
  std::string prompt(instruction);
  if (!input.empty()) {
    const bool is_alpaca = form_ == Form::alpaca;
    if (is_alpaca) {
      messages.push_back({"system",
                          "Below is an instruction that describes a task, paired with an input "
                          "that provides further context. Write a response that appropriately "
                          "completes the request."});
    }
    prompt += fmt::format("\n\n{}{}", is_alpaca ? "### Input:\n" : "", input);
  }
  messages.push_back({"user", std::move(prompt)});
  messages.push_back({"assistant", std::string(output)});
  return messages;
}

std::string ChatTemplate::key() const {
  return fmt::format("{}\n{}\n{}\n{}", known_form(form_).name, default_system_, date_, thinks_);
}

}  // namespace assay
