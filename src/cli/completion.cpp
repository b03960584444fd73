// assay completion: scripts that complete commands, options, suites, benchmarks and axes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "cli/cli.h"
#include "cli/command.h"
#include "measure/grid/benchmark.h"
#include "measure/suites/suite.h"

namespace assay::cli::completion_command {
namespace {

using Words = std::vector<std::string>;

/// Whether the option's values are a fixed list of words rather than file names.
bool completes_words(const Option& option) {
  const std::string words = option.complete.text();
  return !words.empty() && words != "folder" && words != "file";
}

/// The words of a text with spaces between them.
Words split_words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string_view first_word(const Command& command) {
  return command.name.substr(0, command.name.find(' '));
}

/// What may follow the command: the second words of its kinds, its operands, and "axis=" where it
/// takes lists of values of axes. `versus`, which takes single ones, offers only environments.
Words words_for(const Command& command) {
  Words words;
  const auto add = [&](std::string word) {
    if (std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(std::move(word));
  };
  for (const Command* kind : kinds_of(command)) add(std::string(kind_word(*kind)));
  for (std::string& word : split_words(command.operands.text())) add(std::move(word));
  if (command.positionals.find("AXIS=VALUE[,") == std::string_view::npos) return words;
  const Benchmark* const tuned = find_benchmark(kind_word(command));
  for (const Benchmark* benchmark : benchmarks()) {
    if (tuned != nullptr && benchmark != tuned) continue;
    for (const Axis& axis : benchmark->axes()) add(axis.name + "=");
  }
  return words;
}

/// The names of all commands that consist of one word.
Words command_names() {
  Words names;
  for (const Command* command : commands()) {
    if (kind_word(*command).empty()) names.emplace_back(command->name);
  }
  return names;
}

/// All commands, "tune gemm" before "tune": a shell's "case" takes the first pattern that matches.
std::vector<const Command*> kinds_first() {
  std::vector<const Command*> all = commands();
  std::stable_partition(all.begin(), all.end(),
                        [](const Command* one) { return !kind_word(*one).empty(); });
  return all;
}

/// What a shell's "case" compares with the first two words: "tune\ gemm", "run\ *".
std::string pattern_of(const Command& command) {
  return fmt::format("{}\\ {}", first_word(command),
                     kind_word(command).empty() ? "*" : kind_word(command));
}

/// The values of an axis that can be listed: all, or else the defaults.
Words values_of(const Axis& axis) {
  return axis.choices.empty() ? axis.defaults : axis.choices;
}

/// Cases of a shell's "case BENCHMARK/AXIS in" with the axis' values between `begin` and `end`. The
/// last ones are for suites: an axis with the values that any benchmark has for it.
std::string value_cases(std::string_view begin, std::string_view end) {
  std::string cases;
  std::map<std::string, Words> of_suites;
  const auto add_case = [&](std::string_view benchmark, const std::string& axis,
                            const Words& values) {
    cases += fmt::format("      {}/{}) {}{}{} ;;\n", benchmark, axis, begin, fmt::join(values, " "),
                         end);
  };
  for (const Benchmark* benchmark : benchmarks()) {
    for (const Axis& axis : benchmark->axes()) {
      const Words values = values_of(axis);
      add_case(benchmark->name(), axis.name, values);
      Words& all = of_suites[axis.name];
      for (const std::string& value : values) {
        if (std::ranges::find(all, value) == all.end()) all.push_back(value);
      }
    }
  }
  for (const auto& [axis, values] : of_suites) add_case("*", axis, values);
  return cases;
}

std::string bash_script() {
  std::string cases, values;
  for (const Command* command : kinds_first()) {
    Words words = words_for(*command);
    for (const Option& option : all_options(*command)) {
      words.emplace_back(option.name);
      const std::string complete = option.complete.text();
      if (complete.empty()) continue;
      // bash completes file names itself: it quotes them and descends into folders.
      const std::string reply =
          completes_words(option)
              ? fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))", complete)
          : complete == "folder"
              ? "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\")"
              : "COMPREPLY=()";
      // Commands may have different values for an option of the same name.
      values += fmt::format("    {}/{}) {}; return ;;\n", pattern_of(*command), option.name, reply);
    }
    cases += fmt::format("    {}) words=\"{}\" ;;\n", pattern_of(*command), fmt::join(words, " "));
  }
  return fmt::format(
      "_assay() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"\" axis=\"\"\n"
      "  local command=\"${{COMP_WORDS[1]}} \"\n"
      "  [ \"$COMP_CWORD\" -gt 2 ] && command+=\"${{COMP_WORDS[2]}}\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$word\")); return\n"
      "  fi\n"
      // For bash, "=" is a word of its own.
      "  if [ \"$word\" = = ]; then\n"
      "    axis=\"${{COMP_WORDS[COMP_CWORD-1]}}\" word=\"\"\n"
      "  elif [ \"${{COMP_WORDS[COMP_CWORD-1]}}\" = = ]; then\n"
      "    axis=\"${{COMP_WORDS[COMP_CWORD-2]}}\"\n"
      "  fi\n"
      "  if [ -n \"$axis\" ]; then\n"
      "    case \"${{COMP_WORDS[2]}}/$axis\" in\n{}    esac\n"
      "  fi\n"
      "  case \"$command/${{axis:-${{COMP_WORDS[COMP_CWORD-1]}}}}\" in\n{}  esac\n"
      "  if [ -n \"$axis\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); return\n"
      "  fi\n"
      "  case \"$command\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  [[ \"${{COMPREPLY[0]}}\" == *[=:] ]] && compopt -o nospace\n"
      "}}\n"
      "complete -o default -F _assay assay\n",
      fmt::join(command_names(), " "), value_cases("words=\"", "\""), values, cases);
}

std::string zsh_script() {
  std::string cases, of_options;
  for (const Command* command : kinds_first()) {
    Words words = words_for(*command);
    for (const Option& option : all_options(*command)) {
      words.emplace_back(option.name);
      if (!completes_words(option)) continue;
      of_options += fmt::format("    {}/{}) compadd -- {}; return ;;\n", pattern_of(*command),
                                option.name, option.complete.text());
    }
    cases += fmt::format("    {}) compadd -S '' -- {} ;;\n", pattern_of(*command),
                         fmt::join(words, " "));
  }
  return fmt::format(
      "#compdef assay\n"
      "_assay() {{\n"
      "  if (( CURRENT == 2 )); then compadd -- {} --help --version; return; fi\n"
      "  if [[ $words[CURRENT] == [^-]*=* ]]; then\n"
      "    local axis=${{words[CURRENT]%%=*}} benchmark=$words[3] values=()\n"
      "    case $benchmark/$axis in\n{}    esac\n"
      "    compset -P '*='; compadd -- $values; return\n"
      "  fi\n"
      "  local command=\"$words[2] \"\n"
      "  (( CURRENT > 3 )) && command+=$words[3]\n"
      "  case \"$command/$words[CURRENT-1]\" in\n{}  esac\n"
      "  case $command in\n{}  esac\n"
      "  _files\n"
      "}}\n"
      "compdef _assay assay\n",
      fmt::join(command_names(), " "), value_cases("values=(", ")"), of_options, cases);
}

/// Escapes text for fish's single quotes.
std::string quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

/// A fish condition: the words so far name the command. A command of one word is not named by the
/// second word of another command, such as "serve" in "tune serve".
std::string fish_condition(const Command& command) {
  const std::string_view first = first_word(command), kind = kind_word(command);
  std::string condition = fmt::format("__fish_seen_subcommand_from {}", first);
  if (!kind.empty()) return condition + fmt::format("; and __fish_seen_subcommand_from {}", kind);
  for (const Command* other : commands()) {
    const bool is_kind_of_it = !kind_word(*other).empty() && first_word(*other) == first;
    if (is_kind_of_it) {
      condition += fmt::format("; and not __fish_seen_subcommand_from {}", kind_word(*other));
    } else if (kind_word(*other) == first) {
      condition += fmt::format("; and not __fish_seen_subcommand_from {}", first_word(*other));
    }
  }
  return condition;
}

std::string fish_script() {
  std::string script = "complete -c assay -n __fish_use_subcommand -l version\n";
  for (const Command* command : commands()) {
    const std::string_view kind = kind_word(*command);
    if (kind.empty()) {
      script += fmt::format("complete -c assay -n __fish_use_subcommand -xa {} -d {}\n",
                            command->name, quoted(command->summary));
    }
    const std::string after = fmt::format("-n '{}'", fish_condition(*command));
    Words words = words_for(*command);
    if (command->name == "run") {
      for (const Benchmark* benchmark : benchmarks()) {
        for (const Axis& axis : benchmark->axes()) {
          for (const std::string& value : values_of(axis)) words.push_back(axis.name + "=" + value);
        }
      }
    }
    for (const std::string& word : words) {
      script += fmt::format("complete -c assay {} -a '{}'\n", after, word);
    }
    for (const Option& option : all_options(*command)) {
      script += fmt::format(
          "complete -c assay {} -l {}{}{} -d {}\n", after, option.name.substr(2),
          option.value.empty() ? "" : " -r",
          completes_words(option) ? fmt::format(" -a '{}'", option.complete.text()) : "",
          quoted(option.help));
    }
  }
  return script;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const std::string& shell = arguments.positionals.front();
  if (shell == "bash") {
    terminal.print(bash_script());
  } else if (shell == "zsh") {
    terminal.print(zsh_script());
  } else if (shell == "fish") {
    terminal.print(fish_script());
  } else {
    return report(terminal, {ErrorKind::usage,
                             fmt::format("no completion for the shell \"{}\"; allowed: bash, zsh, "
                                         "fish",
                                         shell)});
  }
  return exit_ok;
}

const Command command = {
    .name = "completion",
    .summary = "Print a completion script for bash, zsh or fish",
    .group = CommandGroup::about,
    .positionals = "bash|zsh|fish",
    .least_positionals = 1,
    .most_positionals = 1,
    .details = R"(  source <(assay completion bash)

)",
    .options = {},
    .run = &run,
    .operands = "bash zsh fish",
    .no_json = "it prints a script",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::completion_command
