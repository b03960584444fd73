// A subcommand: a function, and the data from which the parser, the help, the man page, the
// completions and docs/cli.md are all generated. A subcommand is one file ending in
//   const CommandRegistry::Add registered{&command};
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "core/registry.h"

namespace assay::cli {

/// Words with which shells complete an argument: a text with spaces between them, or a function
/// that makes it. "folder" or "file" instead completes the names of folders or files.
class CompletionWords {
 public:
  CompletionWords(const char* words = "") : words_(words) {}
  CompletionWords(std::string (*list)()) : list_(list) {}
  std::string text() const { return list_ == nullptr ? std::string(words_) : list_(); }

 private:
  std::string_view words_;
  std::string (*list_)() = nullptr;
};

struct Option {
  std::string_view name;  ///< "--device"
  /// Placeholder for the value, "NAME". Empty: a flag without value. "[N]": the value may be left
  /// out. "B...": the option takes all words up to the next option, and has `repeats`.
  std::string_view value;
  std::string_view help;     ///< one sentence, no full stop
  CompletionWords complete;  ///< complete its value
  bool repeats = false;      ///< may be given several times
  /// Another spelling that is accepted: an older one, or that of a similar option.
  std::string_view also = {};
};

/// The user's arguments, split by the parser but not yet validated.
struct Arguments {
  std::vector<std::string> positionals;  ///< the words that are no options, without the command's
  /// By Option::name. Flags map to "1", repeated options to one line per value.
  std::map<std::string, std::string, std::less<>> options;

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string get(std::string_view option, std::string_view otherwise = "") const {
    const auto at = options.find(option);
    return at == options.end() ? std::string(otherwise) : at->second;
  }
  /// Returns all values of a repeatable option, in the order given.
  std::vector<std::string> all(std::string_view option) const;
};

/// What commands are for, in the order in which help lists them.
enum class CommandGroup { measure, compare, diagnose, serve, tune, about };
/// Their headings.
inline constexpr std::array<std::string_view, 6> command_groups = {
    "Measure", "Compare", "Diagnose", "Load and serve", "Tune", "About assay"};

struct Command {
  /// One word, "run", or two: "tune gemm" is a kind of "tune" with options and a help of its own.
  /// Its `run` gets the second word, "gemm", as the first positional.
  std::string_view name;
  std::string_view summary;  ///< one line
  CommandGroup group = CommandGroup::measure;
  std::string_view positionals;  ///< "[NAME]", as the usage line shows them
  std::size_t least_positionals = 0;
  std::size_t most_positionals = 0;
  std::string_view
      details;  ///< paragraphs for help and man page; lines of examples start with two spaces
  std::vector<Option> options;
  int (*run)(const Arguments& arguments, Terminal& terminal);  ///< returns the exit status
  /// For --help beside an operand: prints help on the operand and returns true, or returns false,
  /// and the command's own help is printed. Null: it always is.
  bool (*help_on_operand)(const Arguments& arguments, Terminal& terminal) = nullptr;
  CompletionWords operands = {};  ///< complete the positionals
  /// Why it has no --json, for the error; empty: it has it.
  std::string_view no_json = {};
};
using CommandRegistry = Registry<const Command*>;

/// Returns all commands by group, and in each group those first that a new user needs, then the
/// rest by name.
std::vector<const Command*> commands();
/// Returns null if there is no command of that name.
const Command* find_command(std::string_view name);
/// Returns the commands named by the word of `command` and a second one: "tune gemm" for "tune".
std::vector<const Command*> kinds_of(const Command& command);
/// Returns the second word of a command's name, such as "gemm" in "tune gemm"; empty: there is
/// none.
std::string_view kind_word(const Command& command);
/// Returns the options that commands have after their own: all of them, but --json only where
/// Command::no_json is empty.
const std::vector<Option>& common_options();
/// A command's options, followed by those of common_options() that it has.
std::vector<Option> all_options(const Command& command);
/// The option of that name or other spelling; null: there is none.
const Option* find_option(const std::vector<Option>& options, std::string_view name);

}  // namespace assay::cli
