#include "core/regex.h"

#include <fmt/format.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace assay {
namespace {

std::string_view bytes_of(PCRE2_SPTR text) {
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units_of(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

}  // namespace

struct Pattern::Compiled {
  struct Free {
    void operator()(pcre2_code* used) const { pcre2_code_free(used); }
    void operator()(pcre2_match_data* used) const { pcre2_match_data_free(used); }
    void operator()(pcre2_match_context* used) const { pcre2_match_context_free(used); }
  };
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_data, Free> match;
  std::unique_ptr<pcre2_match_context, Free> context;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text) {
  constexpr std::uint32_t most_steps = 1'000'000;
  Pattern pattern = TRY(compile(text, 0, most_steps));
  std::uint32_t groups = 0;
  pcre2_pattern_info(pattern.compiled_->code.get(), PCRE2_INFO_CAPTURECOUNT, &groups);
  if (groups == 0) {
    return Error{ErrorKind::usage,
                 "it has no group; put the number into parentheses, e.g. "
                 "'bandwidth: (\\S+)'"};
  }
  return pattern;
}

Result<Pattern> Pattern::compile_unicode(std::string_view text, std::uint32_t most_steps) {
  return compile(text, PCRE2_UTF | PCRE2_UCP, most_steps);
}

Result<Pattern> Pattern::compile(std::string_view text, std::uint32_t options,
                                 std::uint32_t most_steps) {
  constexpr std::uint32_t most_kibibytes = 64 * 1024;
  int number = 0;
  PCRE2_SIZE at = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code.reset(pcre2_compile(units_of(text), text.size(), options, &number, &at, nullptr));
  if (!compiled->code) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(number, message, sizeof(message));
    return Error{ErrorKind::usage, fmt::format("{} at character {}", bytes_of(message), at + 1)};
  }
  compiled->match.reset(pcre2_match_data_create_from_pattern(compiled->code.get(), nullptr));
  compiled->context.reset(pcre2_match_context_create(nullptr));
  if (!compiled->match || !compiled->context) return Error{ErrorKind::exhausted, "out of memory"};
  pcre2_set_match_limit(compiled->context.get(), most_steps);
  pcre2_set_heap_limit(compiled->context.get(), most_kibibytes);
  return Pattern(std::move(compiled));
}

std::optional<Pattern::Span> Pattern::next(std::string_view text, std::size_t from) const {
  // Match data are local, so that several threads may match.
  const std::unique_ptr<pcre2_match_data, Compiled::Free> match(
      pcre2_match_data_create(1, nullptr));
  if (!match) return std::nullopt;
  // The UTF check is skipped, because it would read the whole text at every call.
  const int found = pcre2_match(compiled_->code.get(), units_of(text), text.size(), from,
                                PCRE2_NO_UTF_CHECK, match.get(), compiled_->context.get());
  if (found < 0) return std::nullopt;
  const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(match.get());
  if (ends[0] > ends[1] || ends[1] > text.size()) return std::nullopt;
  return Span{ends[0], ends[1]};
}

std::string_view Pattern::last_group(std::string_view text) const {
  while (!text.empty()) {
    const std::size_t newline = text.find_last_of('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = text.substr(begin);
    const int groups = pcre2_match(compiled_->code.get(), units_of(line), line.size(), 0, 0,
                                   compiled_->match.get(), compiled_->context.get());
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(compiled_->match.get());
    if (groups >= 2 && ends[2] <= ends[3] && ends[3] <= line.size()) {
      return line.substr(ends[2], ends[3] - ends[2]);
    }
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return {};
}

}  // namespace assay
