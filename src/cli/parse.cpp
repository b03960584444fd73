#include "cli/parse.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/suggest.h"

namespace assay::cli {
namespace {

Error wrong(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

Error unknown_option(const Command& command, const std::vector<Option>& options,
                     const std::string& name) {
  for (const Command* kind : kinds_of(command)) {
    if (find_option(kind->options, name) == nullptr) continue;
    return wrong(fmt::format("{0} has no option {1}; assay {2} has: assay {2} --help", command.name,
                             name, kind->name));
  }
  if (name == "--json" && !command.no_json.empty()) {
    return wrong(fmt::format("{} has no --json: {}", command.name, command.no_json));
  }
  std::vector<std::string> names;
  for (const Option& option : options) names.emplace_back(option.name);
  return wrong(fmt::format("{} has no option {}{}; its options: {}", command.name, name,
                           did_you_mean(name, names), fmt::join(names, ", ")));
}

Error unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command* command : commands()) names.emplace_back(command->name);
  return wrong(fmt::format("unknown command \"{}\"{}; commands: {}", word,
                           did_you_mean(word, names), fmt::join(names, ", ")));
}

/// The long form of the one-letter options -h and -o; other arguments unchanged.
std::string long_form(const std::string& word) {
  if (word == "-h") return "--help";
  return word == "-o" ? "--output" : word;
}

/// Whether the argument is a positional one. A minus alone is: it means standard input or output.
bool is_operand(std::string_view word) {
  return word.size() < 2 || word.front() != '-';
}

/// The first of these arguments that is neither an option of one of `commands` nor an option's
/// value.
std::string first_operand(const std::vector<const Command*>& commands,
                          const std::vector<std::string>& words) {
  const auto takes_value = [&](const std::string& word) {
    return std::ranges::any_of(commands, [&](const Command* command) {
      const std::vector<Option> options = all_options(*command);
      const Option* const option = find_option(options, word);
      return option != nullptr && !option->value.empty();
    });
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = long_form(words[i]);
    if (word == "--") return i + 1 < words.size() ? words[i + 1] : "";
    if (is_operand(word)) return word;
    if (takes_value(word)) ++i;
  }
  return "";
}

/// `command`, or the kind of it that the words after it name.
const Command* kind_named(const Command* command, const std::vector<std::string>& words) {
  std::vector<const Command*> family = kinds_of(*command);
  if (family.empty()) return command;
  family.push_back(command);
  const std::string operand = first_operand(family, words);
  const Command* const kind = find_command(fmt::format("{} {}", command->name, operand));
  return kind != nullptr ? kind : command;
}

/// Whether the option's value may be left out, as that of a flag is.
bool may_lack(const Option& option) {
  return option.value.starts_with('[');
}

/// "--name value", "--name=value", "--flag"; after "--" everything is positional.
Result<Arguments> split_words(const Command& command, const std::vector<std::string>& words) {
  const std::vector<Option> options = all_options(command);
  Arguments arguments;
  bool only_positionals = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = long_form(words[i]);
    if (only_positionals || is_operand(word)) {
      arguments.positionals.push_back(word);
      continue;
    }
    if (word == "--") {
      only_positionals = true;
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string spelling = word.substr(0, equals);
    const Option* const option = find_option(options, spelling);
    if (option == nullptr) return unknown_option(command, options, spelling);
    const std::string name(option->name);
    if (arguments.has(name) && !option->repeats) {
      return wrong(fmt::format("{} is given twice", name));
    }
    std::string value = "1";
    if (option->value.empty()) {
      if (equals != std::string::npos) return wrong(fmt::format("{} takes no value", name));
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size() && (!may_lack(*option) || is_operand(words[i + 1]))) {
      value = words[++i];
    } else if (!may_lack(*option)) {
      value.clear();
    }
    if (value.empty()) {
      return wrong(fmt::format("{} needs a value: {} {}", spelling, name, option->value));
    }
    std::vector<std::string> values = {std::move(value)};
    // An option of several values takes all operands up to the next option.
    const bool several = option->repeats && option->value.ends_with("...");
    while (several && i + 1 < words.size() && is_operand(words[i + 1])) {
      values.push_back(words[++i]);
    }
    std::string& kept = arguments.options[name];
    for (const std::string& one : values) {
      // The values of an option that may be repeated are kept as lines.
      if (option->repeats && one.find('\n') != std::string::npos) {
        return wrong(fmt::format("{} has a line break in its value, which is not allowed", name));
      }
      kept = kept.empty() ? one : kept + '\n' + one;
    }
  }
  return arguments;
}

}  // namespace

Result<Parsed> parse(const std::vector<std::string>& words) {
  Parsed parsed;
  const std::string first = words.empty() ? "--help" : words.front();
  if (first == "--help" || first == "-h") {
    parsed.arguments.options["--help"] = "1";
    return parsed;
  }
  if (first == "--version" || first == "-V") {
    parsed.arguments.options["--version"] = "1";
    return parsed;
  }
  if (first.starts_with('-')) {
    return wrong(
        fmt::format("\"{}\" comes before the command; only --help and --version go there", first));
  }
  // A kind is named by two words.
  if (first.find(' ') == std::string::npos) parsed.command = find_command(first);
  if (parsed.command == nullptr) return unknown_command(first);
  const std::vector<std::string> others(words.begin() + 1, words.end());
  parsed.command = kind_named(parsed.command, others);
  parsed.arguments = TRY(split_words(*parsed.command, others));
  if (parsed.arguments.has("--help")) return parsed;
  const std::size_t count = parsed.arguments.positionals.size();
  if (count < parsed.command->least_positionals || count > parsed.command->most_positionals) {
    return wrong(fmt::format(
        "usage: assay {} {}; see assay {} --help", parsed.command->name,
        parsed.command->positionals.empty() ? "takes no arguments" : parsed.command->positionals,
        parsed.command->name));
  }
  return parsed;
}

}  // namespace assay::cli
