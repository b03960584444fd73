// Output and its styles: the only code that writes to standard output and standard error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::cli {

enum class ColorChoice { automatic, always, never };

/// Error: usage, naming what is allowed.
Result<ColorChoice> parse_color(std::string_view text);

/// Text in one of a few styles; plain if colour is off.
class Style {
 public:
  explicit Style(bool enabled) : enabled_(enabled) {}
  bool enabled() const { return enabled_; }
  std::string bold(std::string_view text) const;
  std::string dim(std::string_view text) const;
  std::string red(std::string_view text) const;
  std::string green(std::string_view text) const;
  std::string yellow(std::string_view text) const;

 private:
  std::string wrap(const char* code, std::string_view text) const;
  bool enabled_;
};

/// Makes `text` safe to show. It may contain text from files, servers and other machines, which
/// could move the cursor, hide lines or reverse their order. Control characters, including those of
/// C1, and characters that change the direction of writing are escaped like "\u001b", which means
/// the same inside JSON strings. Line ends, tabs and, if `styled`, the sequences of Style stay.
/// Bytes that are not UTF-8 become U+FFFD.
std::string without_controls(std::string_view text, bool styled);

/// Standard output and standard error of this process. Everything written passes
/// without_controls().
class Terminal {
 public:
  explicit Terminal(ColorChoice color = ColorChoice::automatic);

  /// Writes to standard output. Failures are remembered: output_failed().
  void print(std::string_view text);
  /// Writes to standard output, which must be a terminal, over the last `lines` lines.
  void print_over(std::ptrdiff_t lines, std::string_view text);
  /// Writes to standard error.
  void note(std::string_view text);
  /// Replaces the line at standard error's cursor; does nothing unless interactive().
  void rewrite_line(std::string_view line);
  /// Writes the line "assay: message" to standard error.
  void complain(std::string_view message);
  /// Writes out what print() buffered.
  void flush();

  /// Returns whether standard output could not be written.
  bool output_failed() const { return output_error_ != 0; }
  /// Returns whether that was because it is a pipe without a reader, as in `assay show | head`.
  bool broken_pipe() const;
  /// Returns the system's message about that failure.
  std::string output_problem() const;

  Style out_style() const { return Style(out_color_); }
  Style error_style() const { return Style(error_color_); }
  /// Returns whether standard error is a terminal on which a line can be rewritten.
  bool interactive() const { return interactive_; }
  /// Columns of standard output's terminal; 0 if it is not a terminal and lines may have any
  /// length.
  int width() const;
  /// Columns of standard error's terminal, 80 if unknown.
  int error_width() const;

 private:
  void write(std::string_view bytes);

  bool out_color_ = false;
  bool error_color_ = false;
  bool interactive_ = false;
  int output_error_ = 0;
};

}  // namespace assay::cli
