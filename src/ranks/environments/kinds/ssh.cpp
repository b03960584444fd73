// Another machine or VM over ssh. The binary is copied there once, under a name with its hash. It
// may be started there in a container, an MPI job or any other kind that needs only a command.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "core/hash.h"
#include "core/program.h"
#include "core/read_file.h"
#include "ranks/environments/environment.h"
#include "ranks/environments/shell_words.h"

namespace assay::ssh_environment {
namespace {

constexpr int connection_failed = 255;  // ssh's own exit status for that

class Ssh final : public Environment {
 public:
  std::string target, port, identity, user, binary;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> variables;
  std::unique_ptr<Environment> inside;

  std::string device() const override { return inside ? inside->device() : ""; }

  Status prepare(const LaunchContext& context) const override {
    if (!binary.empty()) return {};  // the user provides it
    const std::string there = TRY(far_binary(context));
    const ProgramEnd test = TRY(run({"test", "-x", there}, ""));
    if (test.status == 0) return {};
    if (test.status == connection_failed) {
      return Error{ErrorKind::unavailable,
                   fmt::format("environment {}: cannot connect to {}: {}", context.environment,
                               target, last_line(test.errors_tail))};
    }
    std::error_code error;
    const auto bytes = std::filesystem::file_size(context.binary, error);
    // Gets its name only when complete: the connection may break at any moment.
    const std::string path = there.substr(2);  // after "~/": ssh starts in the home folder
    const std::string script = fmt::format(
        "mkdir -p {0} && cat > {1}.$$ && test \"$(wc -c < {1}.$$)\" -eq {2} && chmod 755 {1}.$$ && "
        "mv {1}.$$ {1}",
        std::filesystem::path(path).parent_path().string(), path, bytes);
    const ProgramEnd copy = TRY(run({"sh", "-c", script}, context.binary));
    if (copy.status != 0) {
      return Error{ErrorKind::unavailable,
                   fmt::format("environment {}: cannot copy assay to {}:{}: {}",
                               context.environment, target, path, last_line(copy.errors_tail))};
    }
    return {};
  }

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    LaunchContext far = context;
    far.binary = binary.empty() ? TRY(far_binary(context)) : binary;
    far.cache.clear();  // it belongs to this machine
    far.gpus.reset();
    std::vector<std::string> words;
    Launch launch;
    if (inside) {
      const Launch inner = TRY(inside->launch(arguments, far));
      words = with_variables(inner.variables, inner.words);
      if (!inner.cleanup.empty()) launch.cleanup = ssh_words(inner.cleanup);
    } else {
      words = {far.binary};
      words.insert(words.end(), arguments.begin(), arguments.end());
    }
    launch.words = ssh_words(with_variables(variables, std::move(words)));
    return launch;
  }

 private:
  std::vector<std::string> ssh_words(const std::vector<std::string>& far_words) const {
    std::vector<std::string> words = {
        "ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15"};
    if (!port.empty()) words.insert(words.end(), {"-p", port});
    if (!identity.empty()) words.insert(words.end(), {"-i", identity});
    if (!user.empty()) words.insert(words.end(), {"-l", user});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", target, shell_words(far_words)});
    return words;
  }

  Result<ProgramEnd> run(const std::vector<std::string>& far_words,
                         const std::string& input) const {
    ProgramStart start;
    start.words = ssh_words(far_words);
    start.input_file = input;
    start.timeout_seconds = 600;
    return run_program(start);
  }

  /// Hashed once: the running binary does not change.
  static Result<std::string> far_binary(const LaunchContext& context) {
    static std::mutex mutex;
    static std::map<std::string, std::string> known;
    const std::lock_guard guard(mutex);
    std::string& path = known[context.binary];
    if (path.empty()) {
      constexpr std::size_t most_bytes = std::size_t{1} << 30;
      const std::string bytes = TRY(read_operand(context.binary, most_bytes));
      path = fmt::format("~/.cache/assay/bin/assay-{}", sha256_hex(bytes).substr(0, 16));
    }
    return path;
  }
};

/// Inside ssh only the command is passed on: assay sets no limits and writes no files there.
Result<std::unique_ptr<Environment>> read_inside(const YamlValue& value, std::string_view file) {
  auto inside = TRY(read_environment(value, file, {}));
  LaunchContext probe;
  probe.binary = probe.environment = probe.unit = "assay";
  const auto launch = inside->launch({}, probe);
  const auto wrong = [&](const std::string& message) {
    return Error{ErrorKind::usage, fmt::format("{}:{}: {}", file, value.line, message)};
  };
  if (!launch.ok()) return wrong(launch.error().message);
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
  TRY(settings.optional("port", ssh->port));
  TRY(settings.optional("identity", ssh->identity));
  TRY(settings.optional("user", ssh->user));
  TRY(settings.optional("binary", ssh->binary));
  TRY(settings.optional("options", ssh->options));
  TRY(settings.optional("variables", ssh->variables));
  if (ssh->target.starts_with('-')) {
    return settings.wrong("target",
                          fmt::format("\"{}\" is not a host; e.g. user@node1", ssh->target));
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
