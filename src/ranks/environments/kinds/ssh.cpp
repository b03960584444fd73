// Another machine or VM over ssh. The binary is copied there once, under a name with its hash. It
// may be started there in a container, an MPI job or any other kind that needs only a command. The
// command and its variables go through ssh's standard input, because every user of this machine can
// read ssh's arguments.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "core/hash.h"
#include "core/mutex.h"
#include "core/program.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "ranks/environments/c_library.h"
#include "ranks/environments/environment.h"
#include "ranks/environments/shell_words.h"

namespace assay::ssh_environment {
namespace {

constexpr std::size_t most_message = 500;  // bytes of the other machine's message
constexpr int connection_failed = 255;     // ssh's own exit status for that
constexpr double longest_copy = 600;       // seconds, over a slow line

class Ssh final : public Environment {
 public:
  std::string target, port, identity, user, binary;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> variables;
  std::unique_ptr<Environment> inside;

  std::string device() const override { return inside ? inside->device() : ""; }

  Status prepare(const LaunchContext& context) const override {
    TRY(check_program(context.environment, "ssh", "openssh-client"));
    if (!binary.empty()) return {};  // the user provides it
    const std::string there = TRY(far_binary(context));
    const ProgramEnd test = TRY(run({"test", "-x", there}, "", context.answer_seconds));
    if (test.timed_out) {
      return Error{
          ErrorKind::unavailable,
          fmt::format("environment {}: the shell of {} did not answer within {:.3g} s; does "
                      "`ssh {} true` end?",
                      context.environment, target, context.answer_seconds, target)};
    }
    if (test.status == connection_failed) {
      return Error{ErrorKind::unavailable,
                   fmt::format("environment {}: cannot connect to {}: {}", context.environment,
                               target, shown_line(last_line(test.errors_tail), most_message))};
    }
    TRY(check_place(*this, context));
    if (test.status == 0) return {};
    std::error_code error;
    const auto bytes = std::filesystem::file_size(context.binary, error);
    // The file is renamed only when it is complete: the connection may break at any moment.
    const std::string path = there.substr(2);  // after "~/": ssh starts in the home folder
    const std::string script = fmt::format(
        "mkdir -p {0} && cat > {1}.$$ && test \"$(wc -c < {1}.$$)\" -eq {2} && chmod 755 {1}.$$ && "
        "mv {1}.$$ {1}",
        std::filesystem::path(path).parent_path().string(), path, bytes);
    const ProgramEnd copy = TRY(run({"sh", "-c", script}, context.binary, longest_copy));
    if (copy.status != 0) {
      return Error{
          ErrorKind::unavailable,
          fmt::format("environment {}: cannot copy assay to {}:{}: {}", context.environment, target,
                      path, shown_line(last_line(copy.errors_tail), most_message))};
    }
    return {};
  }

  Result<Launch> look(std::string_view script, const LaunchContext& context) const override {
    Launch inner;
    if (inside) {
      const LaunchContext far = TRY(far_context(context));
      inner = TRY(inside->look(script, far));
    }
    if (inner.words.empty()) inner.words = {"sh", "-c", std::string(script)};
    return through_ssh(inner);
  }

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    const LaunchContext far = TRY(far_context(context));
    Launch inner;
    if (inside) {
      inner = TRY(inside->launch(arguments, far));
    } else {
      inner.words = {far.binary};
      inner.words.insert(inner.words.end(), arguments.begin(), arguments.end());
    }
    return through_ssh(inner);
  }

 private:
  Result<LaunchContext> far_context(const LaunchContext& context) const {
    LaunchContext far = context;
    far.binary = binary.empty() ? TRY(far_binary(context)) : binary;
    far.cache.clear();  // the cache is on this machine
    far.gpus.reset();
    return far;
  }

  Launch through_ssh(const Launch& inner) const {
    Launch launch;
    if (!inner.cleanup.empty()) launch.cleanup = ssh_words(inner.cleanup);
    const std::string script = "{\n" + exports(variables) + exports(inner.variables) + "exec " +
                               shell_words(inner.words) + "\n}\n";
    launch.words = ssh_words({"sh", "-c", read_script(script.size())});
    launch.input = script + inner.input;
    return launch;
  }

  static std::string exports(const std::vector<std::pair<std::string, std::string>>& named) {
    std::string script;
    for (const auto& [name, value] : named) {
      script += fmt::format("export {}={}\n", name, shell_quoted(value));
    }
    return script;
  }

  /// Returns the remote shell's script, which runs the first `bytes` bytes of its standard input.
  /// dd reads no byte beyond them, because the rest is for the program. The login shell, of
  /// whichever kind, sees no variable. A truncated script is not run at all, because its first
  /// brace stays open.
  static std::string read_script(std::size_t bytes) {
    return fmt::format("eval \"$(dd bs=1 count={} 2>/dev/null)\"", bytes);
  }

  std::vector<std::string> ssh_words(const std::vector<std::string>& far_words) const {
    std::vector<std::string> words = {
        "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ServerAliveInterval=15"};
    if (!port.empty()) words.insert(words.end(), {"-p", port});
    if (!identity.empty()) words.insert(words.end(), {"-i", identity});
    if (!user.empty()) words.insert(words.end(), {"-l", user});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", target, shell_words(far_words)});
    return words;
  }

  Result<ProgramEnd> run(const std::vector<std::string>& far_words, const std::string& input,
                         double seconds) const {
    ProgramStart start;
    start.words = ssh_words(far_words);
    start.input_file = input;
    start.timeout_seconds = seconds;
    return run_program(start);
  }

  /// The binary is hashed once, because it does not change while it runs.
  static Result<std::string> far_binary(const LaunchContext& context) {
    static Mutex mutex;
    static std::map<std::string, std::string> known;
    const MutexLock guard(mutex);
    std::string& path = known[context.binary];
    if (path.empty()) {
      constexpr std::size_t most_bytes = std::size_t{1} << 30;
      const std::string bytes = TRY(read_operand(context.binary, most_bytes));
      path = fmt::format("~/.cache/assay/bin/assay-{}", sha256_hex(bytes).substr(0, 16));
    }
    return path;
  }
};

/// Returns a name in `variables` that the remote shell cannot export; empty if it can export all.
std::string odd_name(const std::vector<std::pair<std::string, std::string>>& variables) {
  for (const auto& [name, value] : variables) {
    if (is_variable_name(name)) continue;
    return fmt::format(
        "\"{}\" is not a variable's name; allowed: letters, digits and _, no digit "
        "first",
        name);
  }
  return {};
}

/// Inside ssh only the command is passed on; assay sets no limits and writes no files there.
Result<std::unique_ptr<Environment>> read_inside(const YamlValue& value, std::string_view file) {
  auto inside = TRY(read_environment(value, file, {}));
  LaunchContext probe;
  probe.binary = probe.environment = probe.unit = "assay";
  const auto launch = inside->launch({}, probe);
  const auto wrong = [&](const std::string& message) {
    return Error{ErrorKind::usage, fmt::format("{}:{}: {}", file, value.line, message)};
  };
  if (!launch.ok()) return wrong(launch.error().message);
  if (const std::string why = odd_name(launch->variables); !why.empty()) return wrong(why);
  if (launch->limits.any() || !launch->files.empty()) {
    return wrong(
        "inside ssh assay cannot set CPUs, quotas or memory itself; use kind: container "
        "or kind: command with taskset or systemd-run");
  }
  return inside;
}

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view file) {
  auto ssh = std::make_unique<Ssh>();
  ssh->target = TRY(settings.text("target"));
  constexpr std::uint64_t most_port = 65535;
  std::uint64_t port = 0;
  TRY(settings.count("port", 1, most_port, port));
  if (port != 0) ssh->port = std::to_string(port);
  TRY(settings.optional("identity", ssh->identity));
  TRY(settings.optional("user", ssh->user));
  TRY(settings.optional("binary", ssh->binary));
  TRY(settings.optional("options", ssh->options));
  TRY(settings.optional("variables", ssh->variables));
  if (ssh->target.starts_with('-')) {
    return settings.wrong("target",
                          fmt::format("\"{}\" is not a host; e.g. user@node1", ssh->target));
  }
  if (const std::string why = odd_name(ssh->variables); !why.empty()) {
    return settings.wrong("variables", why);
  }
  if (const YamlValue* inside = settings.find("inside")) {
    ssh->inside = TRY(read_inside(*inside, file));
  }
  return std::unique_ptr<Environment>(std::move(ssh));
}

const EnvironmentKindRegistry::Add registered{
    {"ssh",
     "another machine or VM; assay is copied there once",
     {"target", "port", "identity", "user", "binary", "options", "variables", "inside"},
     &read}};

}  // namespace
}  // namespace assay::ssh_environment
