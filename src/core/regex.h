// Regular expressions for untrusted text: PCRE2, with matching bounded in steps and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace assay {

class Pattern {
 public:
  /// Perl's syntax, as a user writes it. Error: usage, what is wrong and at which character; also
  /// if there is no group.
  static Result<Pattern> compile(std::string_view text);
  /// For next() alone, which needs no group: classes such as \s and \p{L} are those of Unicode.
  static Result<Pattern> compile_unicode(std::string_view text);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// What group 1 matched in the last line of `text` that matches; empty if none does. A line that
  /// takes too many steps does not match.
  std::string_view last_group(std::string_view text) const;

  /// Bytes begin ... end of a text.
  struct Span {
    std::size_t begin = 0, end = 0;
  };
  /// The first match in `text`, which is valid UTF-8, from byte `from` on; none if there is none,
  /// or if it takes too many steps. May be called from several threads.
  std::optional<Span> next(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  static Result<Pattern> compile(std::string_view text, std::uint32_t options,
                                 std::uint32_t most_steps);

  std::unique_ptr<Compiled> compiled_;
};

}  // namespace assay
