#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/environment_value.h"
#include "core/shown_text.h"

namespace assay::cli {
namespace {

int columns_of(int descriptor) {
  winsize size = {};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 0;
}

/// Whether the file descriptor is a terminal that a person may watch. mpirun gives its ranks
/// pseudo-terminals, whose output may end in a file.
bool is_screen(int descriptor) {
  const std::string term = environment_value("TERM");
  const bool dumb = term.empty() || term == "dumb";
  const bool rank_of_mpi =
      std::getenv("OMPI_COMM_WORLD_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
  return isatty(descriptor) == 1 && !dumb && !rank_of_mpi;
}

bool wants_color(ColorChoice choice, int descriptor) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!environment_value("NO_COLOR").empty()) return false;  // https://no-color.org
  return is_screen(descriptor);
}

}  // namespace

Result<ColorChoice> parse_color(std::string_view text) {
  if (text == "auto") return ColorChoice::automatic;
  if (text == "always") return ColorChoice::always;
  if (text == "never") return ColorChoice::never;
  return Error{ErrorKind::usage,
               fmt::format("--color \"{}\" is not allowed; allowed: auto, always, never", text)};
}

namespace {

constexpr const char* bold = "1";
constexpr const char* dim = "2";
constexpr const char* red = "31";
constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr const char* plain_again = "0";

/// The length of one of Style's sequences at the beginning of `text`; 0: there is none.
std::size_t style_length(std::string_view text) {
  for (const char* code : {bold, dim, red, green, yellow, plain_again}) {
    const std::string sequence = fmt::format("\x1b[{}m", code);
    if (text.starts_with(sequence)) return sequence.size();
  }
  return 0;
}

}  // namespace

std::string without_controls(std::string_view text, bool styled) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t plain = styled ? std::min(text.find('\x1b'), text.size()) : text.size();
    shown += assay::without_controls(text.substr(0, plain));
    text.remove_prefix(plain);
    const std::size_t style = style_length(text);
    shown += style > 0 ? text.substr(0, style) : assay::without_controls(text.substr(0, 1));
    text.remove_prefix(std::min(std::max<std::size_t>(style, 1), text.size()));
  }
  return shown;
}

std::string Style::bold(std::string_view text) const {
  return wrap(cli::bold, text);
}
std::string Style::dim(std::string_view text) const {
  return wrap(cli::dim, text);
}
std::string Style::red(std::string_view text) const {
  return wrap(cli::red, text);
}
std::string Style::green(std::string_view text) const {
  return wrap(cli::green, text);
}
std::string Style::yellow(std::string_view text) const {
  return wrap(cli::yellow, text);
}

std::string Style::wrap(const char* code, std::string_view text) const {
  if (!enabled_ || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[{}m", code, text, plain_again);
}

Terminal::Terminal(ColorChoice color)
    : out_color_(wants_color(color, STDOUT_FILENO)),
      error_color_(wants_color(color, STDERR_FILENO)),
      interactive_(is_screen(STDERR_FILENO)) {}

void Terminal::write(std::string_view bytes) {
  if (output_error_ != 0) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    output_error_ = errno == 0 ? EIO : errno;
  }
}

void Terminal::print(std::string_view text) {
  write(without_controls(text, out_color_));
}

void Terminal::print_over(std::ptrdiff_t lines, std::string_view text) {
  if (lines > 0) write(fmt::format("\x1b[{}A\x1b[J", lines));
  print(text);
}

void Terminal::flush() {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error_ == 0) output_error_ = errno == 0 ? EIO : errno;
}

void Terminal::note(std::string_view text) {
  flush();  // keeps the order of the two if both are the same terminal
  const std::string shown = without_controls(text, error_color_);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void Terminal::rewrite_line(std::string_view line) {
  if (!interactive_) return;
  flush();
  const std::string shown = "\r\x1b[K" + without_controls(line, error_color_);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
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
