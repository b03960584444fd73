// A subcommand: a function, and the data from which the parser, the help, the man page, the
// completions and docs/cli.md are all generated. A subcommand is one file ending in
//   const CommandRegistry::Add registered{&command};
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal.h"
#include "core/registry.h"

namespace assay::cli {

struct Option {
  std::string_view name;      ///< "--device"
  std::string_view value;     ///< placeholder, "NAME"; empty: a flag
  std::string_view help;      ///< one sentence, no full stop
  std::string_view complete;  ///< words for completion, or "folder" or "file"
  bool repeats = false;       ///< may be given several times
};

/// The user's arguments, split by the parser but not yet validated.
struct Arguments {
  std::vector<std::string> positionals;
  /// By name. Flags map to "1", repeated options to one line per value.
  std::map<std::string, std::string, std::less<>> options;

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string get(std::string_view option, std::string_view otherwise = "") const {
    const auto at = options.find(option);
    return at == options.end() ? std::string(otherwise) : at->second;
  }
  /// All values of a repeatable option.
  std::vector<std::string> all(std::string_view option) const;
};

struct Command {
  /// "run", or of two words, "tune gemm": a kind of "tune" with options and a help of its own,
  /// which gets its second word as the first positional.
  std::string_view name;
  std::string_view summary;      ///< one line
  std::string_view positionals;  ///< "[NAME]", as the usage line shows them
  std::size_t least_positionals = 0;
  std::size_t most_positionals = 0;
  std::string_view
      details;  ///< paragraphs for help and man page; lines of examples start with two spaces
  std::vector<Option> options;
  int (*run)(const Arguments& arguments, Terminal& terminal);
  /// For --help beside an operand: prints help on the operand and returns true, or returns false,
  /// and the command's own help is printed. Null: it always is.
  bool (*help_on_operand)(const Arguments& arguments, Terminal& terminal) = nullptr;
};
using CommandRegistry = Registry<const Command*>;

/// In the order a new user needs them: devices, list, run, show, then the rest by name.
std::vector<const Command*> commands();
const Command* find_command(std::string_view name);
/// The commands named by the word of `command` and a second one: "tune gemm" for "tune".
std::vector<const Command*> kinds_of(const Command& command);
/// The second word of a command's name, such as "gemm" in "tune gemm"; empty: there is none.
std::string_view kind_word(const Command& command);

/// Options that every command has, after its own.
const std::vector<Option>& common_options();
/// A command's options, followed by common_options().
std::vector<Option> all_options(const Command& command);

}  // namespace assay::cli
