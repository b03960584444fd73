#include "serving/server/unsupported_fields.h"

#include <algorithm>
#include <array>

namespace assay::server {
namespace {

struct UnsupportedField {
  std::string_view name;
  std::array<std::string_view, 2> harmless = {};  ///< values that ask for the default behaviour
};

/// Fields of the interfaces of OpenAI, vLLM, llama.cpp and TGI.
constexpr std::array unsupported_fields = {
    UnsupportedField{"add_generation_prompt", {"true"}},
    UnsupportedField{"add_special_tokens", {"true"}},
    UnsupportedField{"allowed_token_ids"},
    UnsupportedField{"audio"},
    UnsupportedField{"bad_words"},
    UnsupportedField{"chat_template"},
    UnsupportedField{"chat_template_kwargs"},
    UnsupportedField{"continue_final_message", {"false"}},
    UnsupportedField{"documents"},
    UnsupportedField{"function_call", {"none", "auto"}},
    UnsupportedField{"guided_choice"},
    UnsupportedField{"guided_grammar"},
    UnsupportedField{"guided_json"},
    UnsupportedField{"guided_regex"},
    UnsupportedField{"image_data"},
    UnsupportedField{"length_penalty", {"1", "1.0"}},
    UnsupportedField{"logits_processors"},
    UnsupportedField{"mirostat", {"0"}},
    UnsupportedField{"modalities", {"text"}},
    UnsupportedField{"prediction"},
    UnsupportedField{"prompt_embeds"},
    UnsupportedField{"prompt_logprobs"},
    UnsupportedField{"return_full_text", {"false"}},
    UnsupportedField{"structured_outputs"},
    UnsupportedField{"tool_choice", {"none", "auto"}},
    UnsupportedField{"top_n_tokens", {"0"}},
    UnsupportedField{"truncate"},
    UnsupportedField{"truncate_prompt_tokens"},
    UnsupportedField{"typical_p", {"1", "1.0"}},
    UnsupportedField{"use_beam_search", {"false"}},
    UnsupportedField{"watermark", {"false"}},
};

}  // namespace

bool is_unsupported(std::string_view name, std::string_view value) {
  const auto field = std::find_if(unsupported_fields.begin(), unsupported_fields.end(),
                                  [&](const UnsupportedField& one) { return one.name == name; });
  if (field == unsupported_fields.end() || value.empty()) return false;
  return std::find(field->harmless.begin(), field->harmless.end(), value) == field->harmless.end();
}

}  // namespace assay::server
