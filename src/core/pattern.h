// Regular expressions that people write and that meet text nobody vouches for: PCRE2, whose
// matching is bounded in steps and memory.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"

namespace assay {

class Pattern {
 public:
  /// Perl's syntax. Error: usage, what is wrong and at which character; also without a group.
  static Result<Pattern> compile(std::string_view text);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// What group 1 matched in the last line of `text` that matches; empty without a match, and for
  /// lines that take too many steps.
  std::string_view last_group(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace assay
