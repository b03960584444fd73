#include "ranks/environments/c_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/program.h"
#include "core/shown_text.h"
#include "core/version.h"

namespace assay {
namespace {

constexpr std::size_t most_printed = 10'000;  // bytes of the script's output
constexpr std::size_t most_name = 80;         // bytes shown of the system's name

/// Returns the rest of the line that begins with `key`; empty if there is none.
std::string_view line_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) return line.substr(key.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

/// Returns {2, 31} for "2.31"; {0, 0} if the text is no version.
std::pair<int, int> version_of(std::string_view text) {
  std::pair<int, int> version = {0, 0};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return {0, 0};
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  return minor.ec == std::errc() ? version : std::pair(0, 0);
}

std::string processor_of_this_build() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return {};
#endif
}

}  // namespace

Status check_place(const Environment& environment, const LaunchContext& context) {
  LaunchContext of_look = context;
  of_look.unit += "-look";  // no container of a unit may have the same name
  const Launch launch = TRY(environment.look(look_at_c_library(), of_look));
  if (launch.words.empty()) return {};
  std::string printed;
  ProgramStart start;
  start.words = launch.words;
  start.variables = launch.variables;
  start.input = launch.input;
  start.timeout_seconds = 600;  // fetching an image may take long
  start.line = [&](std::string_view line) {
    if (printed.size() < most_printed) printed.append(line).append("\n");
  };
  const auto end = run_program(start);
  if (!end.ok()) return {};
  return check_c_library(printed, context.environment, oldest_glibc(), processor_of_this_build());
}

std::string_view look_at_c_library() {
  return "getconf GNU_LIBC_VERSION 2>/dev/null || "
         "ldd --version 2>&1 | sed -n 's/^ldd (.*) /glibc /p;s/^musl libc.*/musl/p'; "
         "echo machine $(uname -m); sed -n 's/^PRETTY_NAME=\"\\{0,1\\}\\([^\"]*\\).*/system \\1/p' "
         "/etc/os-release 2>/dev/null; exit 0";
}

Status check_c_library(std::string_view printed, std::string_view environment,
                       std::string_view needed, std::string_view machine) {
  const std::string_view name = line_of(printed, "system ");
  const std::string system = name.empty() ? "" : fmt::format(" ({})", shown_line(name, most_name));
  const std::string_view there = line_of(printed, "machine ");
  if (!there.empty() && !machine.empty() && there != machine) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("environment {}: this assay is for {}, and the processor there is {}{}; "
                    "build assay there and name it with binary:",
                    environment, machine, shown_line(there, most_name), system)};
  }
  if (printed.starts_with("musl") || printed.find("\nmusl\n") != std::string_view::npos) {
    return Error{
        ErrorKind::unavailable,
        fmt::format("environment {}: assay needs glibc {} or newer, and the C library there is "
                    "musl{}; use a system with glibc (Debian, Ubuntu, RHEL and their images)",
                    environment, needed, system)};
  }
  const std::string_view version = line_of(printed, "glibc ");
  const auto found = version_of(version);
  if (found == std::pair(0, 0) || found >= version_of(needed)) return {};
  return Error{ErrorKind::unavailable,
               fmt::format("environment {}: this assay needs glibc {} or newer, and glibc there is "
                           "{}.{}{}; {}",
                           environment, needed, found.first, found.second, system,
                           found >= std::pair(2, 31)
                               ? "use the released assay, which needs 2.31, or a newer system"
                               : "use a newer system (Ubuntu 20.04, Debian 11, RHEL 9 and later)")};
}

}  // namespace assay
