#include "serving/client/reply_event.h"

#include <rapidjson/reader.h>

#include <array>

namespace assay {
namespace {

/// The objects and arrays whose members are read, by position.
enum class Place {
  other,
  root,
  choices,
  choice,
  message,
  tool_call,
  usage,
  usage_details,
  error,
  token,
  details
};

/// The names of the members that are read.
enum class Key {
  other,
  choices,
  text,
  delta,
  message,
  content,
  role,
  reasoning,
  tool_calls,
  finish_reason,
  stop_type,
  usage,
  prompt_tokens,
  completion_tokens,
  completion_tokens_details,
  reasoning_tokens,
  tokens_evaluated,
  tokens_predicted,
  stop,
  error,
  token,
  generated_text,
  details,
  generated_tokens,
  input_length,
  sim_sent_ns,
};

struct KeyName {
  std::string_view name;
  Key key;
};

constexpr std::array key_names = {
    KeyName{"choices", Key::choices},
    KeyName{"text", Key::text},
    KeyName{"delta", Key::delta},
    KeyName{"message", Key::message},
    KeyName{"content", Key::content},
    KeyName{"role", Key::role},
    KeyName{"reasoning", Key::reasoning},
    KeyName{"reasoning_content", Key::reasoning},
    KeyName{"tool_calls", Key::tool_calls},
    KeyName{"finish_reason", Key::finish_reason},
    KeyName{"stop_type", Key::stop_type},
    KeyName{"usage", Key::usage},
    KeyName{"prompt_tokens", Key::prompt_tokens},
    KeyName{"completion_tokens", Key::completion_tokens},
    KeyName{"completion_tokens_details", Key::completion_tokens_details},
    KeyName{"reasoning_tokens", Key::reasoning_tokens},
    KeyName{"tokens_evaluated", Key::tokens_evaluated},
    KeyName{"tokens_predicted", Key::tokens_predicted},
    KeyName{"stop", Key::stop},
    KeyName{"error", Key::error},
    KeyName{"token", Key::token},
    KeyName{"generated_text", Key::generated_text},
    KeyName{"details", Key::details},
    KeyName{"generated_tokens", Key::generated_tokens},
    KeyName{"input_length", Key::input_length},
    KeyName{"sim_sent_ns", Key::sim_sent_ns},
};

class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  Handler(Api api, ReplyEvent& event) : api_(api), event_(event) {}

  bool Default() { return true; }
  bool Key(const char* name, rapidjson::SizeType length, bool) {
    key_ = assay::Key::other;
    if (depth_ > deepest) return true;
    const std::string_view text(name, length);
    for (const KeyName& known : key_names) {
      if (known.name == text) {
        key_ = known.key;
        break;
      }
    }
    return true;
  }
  bool StartObject() { return enter(below(false)); }
  bool StartArray() { return enter(below(true)); }
  bool EndObject(rapidjson::SizeType) { return leave(); }
  bool EndArray(rapidjson::SizeType elements) {
    if (place() == Place::choices && elements > 0) has_choices_ = true;
    return leave();
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    take(std::string_view(text, length));
    return true;
  }
  bool Bool(bool value) {
    if (place() == Place::root && key_ == assay::Key::stop) stopped_ = value;
    return true;
  }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Uint64(std::uint64_t value) {
    count(value);
    return true;
  }

  /// Derives what depends on the whole object.
  void finish() {
    const bool closes = stopped_ || event_.output_tokens.has_value();
    const bool silent = event_.text.empty() && !has_other_output_;
    if (api_ == Api::llamacpp) {
      event_.token = has_output_ && !(silent && closes);
    } else if (api_ != Api::tgi) {
      event_.token = has_choices_ && has_output_ && !(silent && (has_role_ || closes));
    }
  }

 private:
  static constexpr std::size_t deepest = 8;

  Place place() const {
    return depth_ == 0 || depth_ > deepest ? Place::other : places_[depth_ - 1];
  }
  bool enter(Place place) {
    if (depth_ < deepest) places_[depth_] = place;
    ++depth_;
    key_ = assay::Key::other;
    return true;
  }
  bool leave() {
    --depth_;
    key_ = assay::Key::other;
    return true;
  }

  Place below(bool array) {
    if (depth_ == 0) return array ? Place::other : Place::root;
    if (place() == Place::message && key_ == assay::Key::tool_calls) {
      has_output_ = has_other_output_ = true;
      return Place::tool_call;
    }
    if (place() == Place::tool_call) return Place::tool_call;
    if (place() == Place::usage && key_ == assay::Key::completion_tokens_details) {
      return Place::usage_details;
    }
    if (place() == Place::choices) {  // all of several choices count as output
      return array ? Place::other : Place::choice;
    }
    if (array) {
      return place() == Place::root && key_ == assay::Key::choices ? Place::choices : Place::other;
    }
    if (place() == Place::choice) {
      const bool speech = key_ == assay::Key::delta || key_ == assay::Key::message;
      return speech ? Place::message : Place::other;
    }
    if (place() != Place::root) return Place::other;
    switch (key_) {
      case assay::Key::usage:
        return Place::usage;
      case assay::Key::error:
        return Place::error;
      case assay::Key::token:
        event_.token = true;
        return Place::token;
      case assay::Key::details:
        return Place::details;
      default:
        return Place::other;
    }
  }

  void take(std::string_view text) {
    using K = assay::Key;
    const Place at = place();
    const bool output = (at == Place::choice && key_ == K::text) ||
                        (at == Place::message && key_ == K::content) ||
                        (at == Place::token && key_ == K::text) ||
                        (at == Place::root && api_ == Api::llamacpp && key_ == K::content);
    if (output) {
      event_.text.append(text);
      event_.output_bytes += text.size();
      has_output_ = true;
    } else if (at == Place::message && key_ == K::reasoning) {
      has_output_ = true;
      has_other_output_ = has_other_output_ || !text.empty();
      event_.output_bytes += text.size();
      event_.has_reasoning = event_.has_reasoning || !text.empty();
    } else if (at == Place::tool_call) {
      event_.output_bytes += text.size();
    } else if (at == Place::message && key_ == K::role) {
      has_role_ = true;
    } else if (key_ == K::finish_reason && (at == Place::choice || at == Place::details)) {
      event_.finish_reason = text;
    } else if (key_ == K::stop_type && at == Place::root && text != "none") {
      event_.finish_reason = text;
    } else if (at == Place::root && key_ == K::generated_text && !event_.token) {
      event_.text.append(text);  // a TGI reply in one piece
      event_.output_bytes += text.size();
      event_.token = true;
    } else if ((at == Place::error && key_ == K::message) ||
               (at == Place::root && key_ == K::error)) {
      event_.error = text;
    }
  }

  void count(std::uint64_t value) {
    using K = assay::Key;
    const Place at = place();
    if (at == Place::usage && key_ == K::prompt_tokens) event_.prompt_tokens = value;
    if (at == Place::usage && key_ == K::completion_tokens) event_.output_tokens = value;
    if (at == Place::usage_details && key_ == K::reasoning_tokens) event_.reasoning_tokens = value;
    if (at == Place::details && key_ == K::generated_tokens) event_.output_tokens = value;
    if (at == Place::details && key_ == K::input_length) event_.prompt_tokens = value;
    if (at == Place::root && key_ == K::sim_sent_ns) event_.sent_ns = value;
    if (at != Place::root || api_ != Api::llamacpp) return;
    if (key_ == K::tokens_evaluated) event_.prompt_tokens = value;
    if (key_ == K::tokens_predicted) event_.output_tokens = value;
  }

  const Api api_;
  ReplyEvent& event_;
  std::array<Place, deepest> places_ = {};
  std::size_t depth_ = 0;
  assay::Key key_ = assay::Key::other;
  bool has_choices_ = false, has_output_ = false, has_other_output_ = false;
  bool has_role_ = false, stopped_ = false;
};

}  // namespace

bool read_reply_event(Api api, std::string_view json, ReplyEvent& event) {
  event.token = false;
  event.text.clear();
  event.finish_reason.clear();
  event.error.clear();
  event.prompt_tokens.reset();
  event.output_tokens.reset();
  event.reasoning_tokens.reset();
  event.output_bytes = 0;
  event.has_reasoning = false;
  event.sent_ns.reset();
  Handler handler(api, event);
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  // Iterative, because JSON from the network may be nested to any depth.
  if (reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler).IsError()) return false;
  if (json.find('{') == json.npos) return false;
  handler.finish();
  return true;
}

}  // namespace assay
