// assay help: a command's help, or one of the documents that the binary carries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/document_view.h"
#include "cli/manual.h"
#include "cli/screen_text.h"
#include "core/embedded.h"
#include "core/suggest.h"

namespace assay::cli::help_command {
namespace {

/// The documents by name: "campaigns" for docs/campaigns.md. docs/cli.md is left out, because
/// `assay man` prints it.
std::vector<EmbeddedFile> topics() {
  std::vector<EmbeddedFile> topics;
  for (EmbeddedFile file : embedded_docs()) {
    file.name.remove_suffix(std::string_view(".md").size());
    if (file.name != "cli") topics.push_back(file);
  }
  return topics;
}

/// The document's title, which is its first heading.
std::string_view heading(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("# "), text.size()));
  return text.substr(0, text.find('\n'));
}

/// Topics and commands; a command of two words only by its first one.
std::string names_with_help() {
  std::string names;
  for (const EmbeddedFile& topic : topics()) names += std::string(topic.name) + ' ';
  for (const Command* command : commands()) {
    if (kind_word(*command).empty()) names += std::string(command->name) + ' ';
  }
  return names;
}

std::string overview(std::size_t screen, const Style& style) {
  std::string text = help_overview(screen, style) + fmt::format("\n{}\n", style.bold("Topics"));
  for (const EmbeddedFile& topic : topics()) {
    text += fmt::format("  {:<20} {}\n", topic.name, heading(topic.text));
  }
  return text + "\nassay help TOPIC prints one of them.\n";
}

/// A command's help, the document of that name, or both; empty: neither exists.
std::string text_of(std::string_view name, std::size_t screen, const Style& style) {
  std::string text;
  if (const Command* command = find_command(name)) text = help_of(*command, screen, style);
  for (const EmbeddedFile& topic : topics()) {
    if (topic.name == name)
      text += (text.empty() ? "" : "\n") + document_text(topic.text, screen, style);
  }
  return text;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const Style style = terminal.out_style();
  const auto screen = static_cast<std::size_t>(terminal.width());
  if (arguments.positionals.empty()) {
    terminal.print(overview(screen, style));
    return exit_ok;
  }
  const std::string name = fmt::format("{}", fmt::join(arguments.positionals, " "));
  const std::string text = text_of(name, screen, style);
  if (!text.empty()) {
    terminal.print(text);
    return exit_ok;
  }
  std::vector<std::string> names;
  for (const EmbeddedFile& topic : topics()) names.emplace_back(topic.name);
  for (const Command* command : commands()) names.emplace_back(command->name);
  return report(terminal, {ErrorKind::usage,
                           fmt::format("there is no help on \"{}\"{}; topics and commands: {}",
                                       name, did_you_mean(name, names), fmt::join(names, ", "))});
}

const Command command = {
    .name = "help",
    .summary = "Print the help of a command, or a document",
    .group = CommandGroup::about,
    .positionals = "[COMMAND | TOPIC]",
    .least_positionals = 0,
    .most_positionals = 2,
    .details =
        R"(The documents are those of the source tree's docs folder. On a terminal their tables are aligned;
elsewhere they are printed as they are written, in Markdown.

  assay help
  assay help campaigns
  assay help run
  assay help tune gemm

)",
    .options = {},
    .run = &run,
    .operands = &names_with_help,
    .no_json = "it prints documents",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::help_command
