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
  /// Compiles Perl's syntax, as a user writes it, for last_group(). Error: usage, with the problem
  /// and its position; also if there is no group; exhausted, without memory.
  static Result<Pattern> compile(std::string_view text);
  /// Compiles a pattern only for next(), which needs no group; classes such as \s and \p{L} are
  /// Unicode's. A search that takes more than `most_steps` (PCRE2's match limit) finds nothing.
  /// Error: as compile().
  static Result<Pattern> compile_unicode(std::string_view text,
                                         std::uint32_t most_steps = many_steps);
  /// The default limit allows texts with megabytes of spaces, each of which takes a step.
  static constexpr std::uint32_t many_steps = 100'000'000;
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// Returns what group 1 matched in the last line of `text` where it matched something; empty if
  /// there is none. A line that takes more than a million steps or 64 MiB does not match. Only one
  /// thread may call it at a time.
  std::string_view last_group(std::string_view text) const;

  /// Bytes begin ... end of a text.
  struct Span {
    std::size_t begin = 0, end = 0;
  };
  /// Returns the first match in `text`, which must be valid UTF-8, from byte `from` on, which
  /// begins a character. nullopt if there is none, or if it takes too many steps or 64 MiB. May be
  /// called from several threads.
  std::optional<Span> next(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  static Result<Pattern> compile(std::string_view text, std::uint32_t options,
                                 std::uint32_t most_steps);

  std::unique_ptr<Compiled> compiled_;
};

}  // namespace assay
