// User-written regular expressions for untrusted text: PCRE2, with matching bounded in steps and
// memory.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"

namespace assay {

class Pattern {
 public:
  /// Perl's syntax. Error: usage, what is wrong and at which character; also if there is no group.
  static Result<Pattern> compile(std::string_view text);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// What group 1 matched in the last line of `text` that matches; empty if none does. A line that
  /// takes too many steps does not match.
  std::string_view last_group(std::string_view text) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace assay
