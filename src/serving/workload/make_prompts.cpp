#include <fmt/format.h>

#include <cmath>

#include "serving/workload/datasets.h"

namespace assay {
namespace {

Status check_range(std::string_view what, double value, double least, double most) {
  if (least <= value && value <= most) return {};
  return Error{ErrorKind::usage,
               fmt::format("{} {} is not between {} and {}", what, value, least, most)};
}

Status check(const PromptSettings& settings) {
  const auto check_count = [](std::string_view what, std::uint64_t value, std::uint64_t least,
                              std::uint64_t most) {
    return check_range(what, static_cast<double>(value), static_cast<double>(least),
                       static_cast<double>(most));
  };
  constexpr double below_one = 0.999;
  TRY(check_count("number of prompts", settings.count, 1, 100'000'000));
  TRY(check_count("input length", settings.input_tokens, 1, most_tokens));
  TRY(check_count("output length", settings.output_tokens.value_or(1), 1, most_tokens));
  TRY(check_count("prefix length", settings.prefix_tokens, 0, most_tokens));
  TRY(check_range("spread of the input length", settings.input_spread, 0, below_one));
  TRY(check_range("spread of the output length", settings.output_spread, 0, below_one));
  TRY(check_range("words per token", settings.words_per_token, 0, 10));
  TRY(check_count("number of turns", settings.turns, 1, 10'000));
  TRY(check_range("think time", settings.think_seconds, 0, 86'400));
  TRY(check_count("length of a block", settings.block_tokens, 1, 1'000'000));
  TRY(check_range("unit of the timestamps", settings.trace_unit, 1e-9, 86'400));
  if (settings.dataset == Dataset::prefix_repetition) {
    TRY(check_count("number of prefixes", settings.prefixes, 1, settings.count));
  }
  if (settings.vocabulary > 0) TRY(check_count("vocabulary", settings.vocabulary, 100, 1u << 31));
  return {};
}

}  // namespace

std::string_view name_of(Dataset dataset) {
  switch (dataset) {
    case Dataset::random:
      return "random";
    case Dataset::prefix_repetition:
      return "prefix_repetition";
    case Dataset::multi_turn:
      return "multi_turn";
    case Dataset::sharegpt:
      return "sharegpt";
    case Dataset::jsonl:
      return "jsonl";
    case Dataset::trace:
      break;
  }
  return "trace";
}

Result<std::unique_ptr<Prompts>> make_prompts(const PromptSettings& settings) {
  TRY(check(settings));
  switch (settings.dataset) {
    case Dataset::random:
      return random_prompts(settings);
    case Dataset::prefix_repetition:
      return prefix_prompts(settings);
    case Dataset::multi_turn:
      return conversation_prompts(settings);
    case Dataset::sharegpt:
      return sharegpt_prompts(settings);
    case Dataset::jsonl:
      return jsonl_prompts(settings);
    case Dataset::trace:
      break;
  }
  return trace_prompts(settings);
}

}  // namespace assay
