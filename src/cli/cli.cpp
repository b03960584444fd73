#include "cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/manual.h"
#include "cli/parse.h"
#include "core/file_lock.h"
#include "core/version.h"
#include "machine/system/machine.h"

namespace assay::cli {
namespace {

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
      return exit_usage;
    case ErrorKind::unavailable:
    case ErrorKind::unsupported:
    case ErrorKind::silence:
    case ErrorKind::failed:
      return exit_nothing_ran;
    case ErrorKind::exhausted:
    case ErrorKind::file:
      return exit_io;
    case ErrorKind::verification:
      return exit_verification;
    case ErrorKind::interrupted:
      break;
  }
  return exit_interrupted;
}

int run(const Parsed& parsed, Terminal& terminal) {
  if (parsed.arguments.has("--version")) {
    terminal.print(
        fmt::format("assay {} ({}, {}, {})\n", version(), git_hash(), compiler(), build_type()));
    return exit_ok;
  }
  if (parsed.arguments.has("--help")) {
    const bool on_operand = parsed.command != nullptr &&
                            parsed.command->help_on_operand != nullptr &&
                            parsed.command->help_on_operand(parsed.arguments, terminal);
    if (on_operand) return exit_ok;
    const auto screen = static_cast<std::size_t>(terminal.width());
    terminal.print(parsed.command == nullptr
                       ? help_overview(screen, terminal.out_style())
                       : help_of(*parsed.command, screen, terminal.out_style()));
    return exit_ok;
  }
  return parsed.command->run(parsed.arguments, terminal);
}

/// assay itself throws nothing, but the standard library throws if the system refuses memory or a
/// thread.
int run_or_say_what_lacks(const Parsed& parsed, Terminal& terminal) {
  try {
    return run(parsed, terminal);
  } catch (const std::bad_alloc&) {
    terminal.complain("out of memory; free some, or raise the limit (ulimit -v)");
  } catch (const std::filesystem::filesystem_error& error) {
    terminal.complain(error.what());
    return exit_io;
  } catch (const std::system_error& error) {
    terminal.complain(
        fmt::format("the system refused a thread: {}; raise the limits of processes and memory "
                    "(ulimit -u, ulimit -v)",
                    error.code().message()));
  } catch (const std::exception& error) {
    terminal.complain(fmt::format("stopped by {}; please report it", error.what()));
  }
  return exit_nothing_ran;
}

/// The terminate handler, for exceptions in threads other than the main one, and for those thrown
/// while threads cannot be joined.
[[noreturn]] void end_at_once() {
  std::string_view text =
      "assay: out of memory or threads; free some, or raise the limits (ulimit -v, ulimit -u); "
      "results so far are stored\n";
  if (const std::exception_ptr cause = std::current_exception()) {
    try {
      std::rethrow_exception(cause);
    } catch (const std::bad_alloc&) {
    } catch (const std::system_error&) {
    } catch (...) {
      text = "assay: stopped by an exception in a thread; please report it\n";
    }
  }
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  ::_exit(exit_nothing_ran);
}

}  // namespace

Error about(std::string_view option, const Error& error) {
  return {error.kind, fmt::format("{}: {}", option, error.message)};
}

int report(Terminal& terminal, const Error& error) {
  terminal.complain(error.message);
  return exit_code_of(error.kind);
}

void complain_without_proc(Terminal& terminal) {
  if (this_machine().exists("proc/self")) return;
  terminal.complain(
      "/proc is missing, so that most facts about this machine are not known; mount -t proc proc "
      "/proc mounts it");
}

int main(int argc, char** argv) {
  std::set_terminate(&end_at_once);
  ignore_write_signals();
  const auto parsed = parse({argv + (argc > 0 ? 1 : 0), argv + argc});
  Terminal plain;
  if (!parsed.ok()) return report(plain, parsed.error());
  const auto color = parse_color(parsed->arguments.get("--color", "auto"));
  if (!color.ok()) return report(plain, color.error());
  Terminal terminal(*color);
  lock_notice() = [&terminal](const std::string& text) { terminal.complain(text); };
  const int status = run_or_say_what_lacks(*parsed, terminal);
  terminal.flush();
  if (terminal.output_failed() && !terminal.broken_pipe()) {
    terminal.complain(terminal.output_problem());
    return exit_io;
  }
  return status;
}

}  // namespace assay::cli
