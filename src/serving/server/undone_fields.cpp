#include "serving/server/undone_fields.h"

#include <algorithm>
#include <array>

namespace assay::server {
namespace {

struct UndoneField {
  std::string_view name;
  std::array<std::string_view, 2> harmless = {};  ///< values that ask for what is done anyway
};

/// Fields of the interfaces of OpenAI, vLLM, llama.cpp and TGI.
constexpr std::array undone_fields = {
    UndoneField{"add_generation_prompt", {"true"}},
    UndoneField{"add_special_tokens", {"true"}},
    UndoneField{"allowed_token_ids"},
    UndoneField{"audio"},
    UndoneField{"bad_words"},
    UndoneField{"chat_template"},
    UndoneField{"chat_template_kwargs"},
    UndoneField{"continue_final_message", {"false"}},
    UndoneField{"documents"},
    UndoneField{"function_call", {"none", "auto"}},
    UndoneField{"guided_choice"},
    UndoneField{"guided_grammar"},
    UndoneField{"guided_json"},
    UndoneField{"guided_regex"},
    UndoneField{"image_data"},
    UndoneField{"length_penalty", {"1", "1.0"}},
    UndoneField{"logits_processors"},
    UndoneField{"mirostat", {"0"}},
    UndoneField{"modalities", {"text"}},
    UndoneField{"prediction"},
    UndoneField{"prompt_embeds"},
    UndoneField{"prompt_logprobs"},
    UndoneField{"return_full_text", {"false"}},
    UndoneField{"structured_outputs"},
    UndoneField{"tool_choice", {"none", "auto"}},
    UndoneField{"top_n_tokens", {"0"}},
    UndoneField{"truncate"},
    UndoneField{"truncate_prompt_tokens"},
    UndoneField{"typical_p", {"1", "1.0"}},
    UndoneField{"use_beam_search", {"false"}},
    UndoneField{"watermark", {"false"}},
};

}  // namespace

bool is_undone(std::string_view name, std::string_view value) {
  const auto field = std::find_if(undone_fields.begin(), undone_fields.end(),
                                  [&](const UndoneField& one) { return one.name == name; });
  if (field == undone_fields.end() || value.empty()) return false;
  return std::find(field->harmless.begin(), field->harmless.end(), value) == field->harmless.end();
}

}  // namespace assay::server
