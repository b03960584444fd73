// A dstack task: writes the fleet and the task as files for `dstack apply`, and reads the records
// from the task's log, which `dstack apply` prints while it is attached.
#include <fmt/format.h>

#include <filesystem>

#include "core/json.h"
#include "core/program.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "core/write_file.h"
#include "ranks/environments/environment.h"
#include "ranks/environments/shell_words.h"

namespace assay::dstack_environment {
namespace {

constexpr std::size_t most_message = 500;  // bytes of dstack's message

/// Formats a scalar in block YAML. Numbers and booleans stay bare; other text is quoted as in JSON.
std::string scalar(const std::string& text) {
  const bool bare = text == "true" || text == "false" || parse_integer(text).ok();
  return bare ? text : Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string block(const YamlValue& value, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string text;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const YamlValue& item = value.items[i];
    text += margin + (value.kind == YamlValue::Kind::map ? scalar(value.keys[i].text) + ":" : "-");
    if (item.kind == YamlValue::Kind::text) text += " " + scalar(item.text);
    const bool empty = item.items.empty() && item.kind != YamlValue::Kind::text;
    text += empty ? (item.kind == YamlValue::Kind::list ? " []\n" : " {}\n") : "\n";
    if (!item.items.empty()) text += block(item, indent + 2);
  }
  return text;
}

class Dstack final : public Environment {
 public:
  YamlValue fleet, task;
  std::string binary;
  std::vector<std::string> options;
  std::vector<std::pair<std::string, std::string>> variables;

  Status prepare(const LaunchContext& context) const override {
    if (fleet.items.empty()) return {};
    const std::filesystem::path file = file_of(context, "fleet");
    TRY(create_folder(file.parent_path()));
    TRY(write_file(file, fleet_text(context)));
    ProgramStart start;
    start.words = apply(file);
    start.timeout_seconds = 3600;
    const ProgramEnd end = TRY(run_program(start));
    if (end.status == 0) return {};
    return Error{ErrorKind::unavailable,
                 fmt::format("environment {}: dstack apply -f {} ended with {}: {}",
                             context.environment, file.string(), end.status,
                             shown_line(last_line(end.errors_tail), most_message))};
  }

  Result<Launch> launch(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const override {
    Launch launch;
    const std::filesystem::path file = file_of(context, "task");
    launch.files = {{file, task_text(arguments, context)}};
    launch.words = apply(file);
    launch.cleanup = {"dstack", "stop", "-x", "-y", name_of_run(context)};
    return launch;
  }

 private:
  std::vector<std::string> apply(const std::filesystem::path& file) const {
    std::vector<std::string> words = {"dstack", "apply", "-y", "-f", file.string()};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
  static std::filesystem::path file_of(const LaunchContext& context, const char* what) {
    return context.folder / "dstack-files" /
           fmt::format("{}.{}.dstack.yml", context.environment, what);
  }
  static std::string name_of_run(const LaunchContext& context) { return context.unit; }

  std::string fleet_text(const LaunchContext& context) const {
    std::string text = "type: fleet\n";
    const bool named = std::any_of(fleet.keys.begin(), fleet.keys.end(),
                                   [](const YamlValue::Key& key) { return key.text == "name"; });
    if (!named) text += fmt::format("name: {}\n", scalar("fleet-" + context.environment));
    return text + block(fleet, 0);
  }

  std::string task_text(const std::vector<std::string>& arguments,
                        const LaunchContext& context) const {
    std::string text = fmt::format("type: task\nname: {}\n", scalar(name_of_run(context)));
    text += block(task, 0);
    if (binary.empty()) {
      text += fmt::format("files:\n  - {}\n",
                          scalar(fmt::format("{}:{}", context.binary, "/tmp/assay")));
    }
    std::vector<std::string> words = {binary.empty() ? "/tmp/assay" : binary};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return text + fmt::format("commands:\n  - {}\n",
                              scalar(shell_words(with_variables(variables, std::move(words)))));
  }
};

Result<std::unique_ptr<Environment>> read(const YamlReader& settings, std::string_view) {
  auto dstack = std::make_unique<Dstack>();
  const auto section = [&](const char* key, YamlValue& target,
                           std::initializer_list<const char*> own) -> Status {
    const YamlValue* value = settings.find(key);
    if (value == nullptr) return {};
    if (value->kind != YamlValue::Kind::map) {
      return settings.wrong(key, fmt::format("\"{}\" must be a map as in dstack's files", key));
    }
    for (const YamlValue::Key& given : value->keys) {
      for (const char* name : own) {
        if (given.text == name) {
          return settings.wrong(key, fmt::format("assay writes \"{}\" of the {} itself; leave it "
                                                 "out",
                                                 name, key));
        }
      }
    }
    target = *value;
    return {};
  };
  TRY(section("fleet", dstack->fleet, {"type"}));
  TRY(section("task", dstack->task, {"type", "name", "commands", "files"}));
  TRY(settings.optional("binary", dstack->binary));
  TRY(settings.optional("options", dstack->options));
  TRY(settings.optional("variables", dstack->variables));
  return std::unique_ptr<Environment>(std::move(dstack));
}

const EnvironmentKindRegistry::Add registered{
    {"dstack",
     "a dstack task: fleet: and task: as in dstack's own files",
     {"fleet", "task", "binary", "options", "variables"},
     &read}};

}  // namespace
}  // namespace assay::dstack_environment
