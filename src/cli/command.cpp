#include "cli/command.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

namespace assay::cli {
namespace {

constexpr std::array<std::string_view, 4> first_commands = {"devices", "list", "run", "show"};

std::size_t rank(const Command* command) {
  const auto at = std::find(first_commands.begin(), first_commands.end(), command->name);
  return static_cast<std::size_t>(at - first_commands.begin());
}

}  // namespace

std::vector<const Command*> commands() {
  std::vector<const Command*> sorted = CommandRegistry::entries();
  std::sort(sorted.begin(), sorted.end(), [](const Command* a, const Command* b) {
    return std::pair(rank(a), a->name) < std::pair(rank(b), b->name);
  });
  return sorted;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : CommandRegistry::entries()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::vector<const Command*> kinds_of(const Command& command) {
  std::vector<const Command*> kinds = commands();
  std::erase_if(kinds, [&](const Command* one) {
    return !one->name.starts_with(std::string(command.name) + ' ');
  });
  return kinds;
}

std::string_view kind_word(const Command& command) {
  const std::size_t space = command.name.find(' ');
  return space == std::string_view::npos ? std::string_view() : command.name.substr(space + 1);
}

const std::vector<Option>& common_options() {
  static const std::vector<Option> options = {
      {"--json", "", "machine-readable output on standard output", ""},
      {"--color", "WHEN", "auto, always or never; auto colours terminals unless NO_COLOR is set",
       "auto always never"},
      {"--help", "", "this text", ""},
  };
  return options;
}

std::vector<Option> all_options(const Command& command) {
  std::vector<Option> options = command.options;
  options.insert(options.end(), common_options().begin(), common_options().end());
  return options;
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  std::vector<std::string> values;
  std::istringstream lines(get(option));
  for (std::string line; std::getline(lines, line);) values.push_back(line);
  return values;
}

}  // namespace assay::cli
