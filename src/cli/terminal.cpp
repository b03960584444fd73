#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay::cli {
namespace {

int columns_of(int descriptor) {
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 0;
}

bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term == nullptr || *term == '\0' || std::strcmp(term, "dumb") == 0;
}

bool wants_color(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  if (no_color != nullptr && *no_color != '\0') return false;
  return isatty(descriptor) == 1 && !is_dumb();
}

}  // namespace

Result<ColorChoice> parse_color(std::string_view text) {
  if (text == "auto") return ColorChoice::automatic;
  if (text == "always") return ColorChoice::always;
  if (text == "never") return ColorChoice::never;
  return Error{ErrorKind::usage,
               fmt::format("--color \"{}\" is not allowed; allowed: auto, always, never", text)};
}

std::string Style::wrap(const char* code, std::string_view text) const {
  if (!enabled_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Terminal::Terminal(ColorChoice color)
    : out_color_(wants_color(color, STDOUT_FILENO)),
      error_color_(wants_color(color, STDERR_FILENO)),
      interactive_(isatty(STDERR_FILENO) == 1 && !is_dumb()) {}

void Terminal::print(std::string_view text) {
  if (output_error_ != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    output_error_ = errno == 0 ? EIO : errno;
  }
}

void Terminal::flush() {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error_ == 0) output_error_ = errno == 0 ? EIO : errno;
}

void Terminal::note(std::string_view text) {
  flush();  // keeps the order of the two if both are the same terminal
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Terminal::complain(std::string_view message) {
  note(fmt::format("{} {}\n", error_style().red("assay:"), message));
}

bool Terminal::broken_pipe() const {
  return output_error_ == EPIPE;
}

std::string Terminal::output_problem() const {
  return fmt::format("cannot write to standard output: {}", std::strerror(output_error_));
}

int Terminal::width() const {
  return isatty(STDOUT_FILENO) == 1 ? columns_of(STDOUT_FILENO) : 0;
}

int Terminal::error_width() const {
  const int columns = columns_of(STDERR_FILENO);
  return columns > 0 ? columns : 80;
}

}  // namespace assay::cli
