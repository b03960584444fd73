#include "cli/command.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <tuple>

namespace assay::cli {
namespace {

constexpr std::array<std::string_view, 9> first_commands = {
    "run", "list", "show", "versus", "campaign", "compare", "report", "load", "doctor"};

std::size_t rank(const Command* command) {
  const auto at = std::find(first_commands.begin(), first_commands.end(), command->name);
  return static_cast<std::size_t>(at - first_commands.begin());
}

}  // namespace

std::vector<const Command*> commands() {
  std::vector<const Command*> sorted = CommandRegistry::entries();
  std::sort(sorted.begin(), sorted.end(), [](const Command* a, const Command* b) {
    return std::tuple(a->group, rank(a), a->name) < std::tuple(b->group, rank(b), b->name);
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
      {"--json", "",
       "JSON on standard output: a document, or a line for each record as it is measured or read; "
       "text for people goes to standard error",
       ""},
      {"--color", "WHEN", "auto, always or never; auto colours terminals unless NO_COLOR is set",
       "auto always never"},
      {"--help", "", "this text", ""},
  };
  return options;
}

std::vector<Option> all_options(const Command& command) {
  std::vector<Option> options = command.options;
  for (const Option& option : common_options()) {
    if (command.no_json.empty() || option.name != "--json") options.push_back(option);
  }
  return options;
}

const Option* find_option(const std::vector<Option>& options, std::string_view name) {
  const auto at = std::ranges::find_if(options, [&](const Option& option) {
    return option.name == name || (!option.also.empty() && option.also == name);
  });
  return at == options.end() ? nullptr : &*at;
}

std::vector<std::string> Arguments::all(std::string_view option) const {
  std::vector<std::string> values;
  std::istringstream lines(get(option));
  for (std::string line; std::getline(lines, line);) values.push_back(line);
  return values;
}

}  // namespace assay::cli
