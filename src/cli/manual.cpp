#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/exit_code.h"
#include "cli/screen_text.h"
#include "core/version.h"

namespace assay::cli {
namespace {

constexpr std::string_view purpose =
    "assay measures what an accelerator or CPU delivers and verifies every number it shows.";

struct EnvironmentText {
  std::string_view name, meaning;
};
constexpr std::array<EnvironmentText, 14> environment_texts = {{
    {"NO_COLOR", "if set and not empty, output is never coloured unless --color always"},
    {"ASSAY_CPU_VARIANT", "instruction-set build of the CPU kernels to use, e.g. x86_64_v3"},
    {"ASSAY_CUDA_LIBRARY", "libcuda.so.1, or its folder, to use instead of searching"},
    {"ASSAY_NVRTC_LIBRARY", "libnvrtc, or its folder, to use instead of searching"},
    {"ASSAY_HIP_LIBRARY",
     "libamdhip64, or its folder (hipRTC beside it), to use instead of searching"},
    {"ASSAY_VERBS_LIBRARY", "libibverbs.so.1, or its folder, to use instead of searching"},
    {"ASSAY_NAME_LIBRARY",
     "the same of other libraries; NAME: CUBLAS, CUBLASLT, CUDNN, HIPBLASLT, ROCBLAS, MIOPEN, "
     "ONEDNN, NCCL, RCCL, MPI"},
    {"ASSAY_LLVM_OBJDUMP", "llvm-objdump to use for `occupancy` instead of searching"},
    {"ASSAY_PTXAS", "ptxas to use for `occupancy` instead of searching"},
    {"ASSAY_OWN_ATTENTION",
     "waves or groups: which form of assay's attention kernels computes; default: the faster one"},
    {"ASSAY_TOKEN",
     "the secret of a run of several ranks, or ASSAY_TOKEN_FILE, a file that holds it"},
    {"ASSAY_RANK",
     "this process's rank where no known launcher says it, with ASSAY_RANKS, ASSAY_LOCAL_RANK and "
     "ASSAY_ADDRESS (`assay help communication`)"},
    {"OPENAI_API_KEY", "the key that `load` sends to servers"},
    {"ASSAY_FAKE", "script of the fake device, for tests, e.g. noise=0.01,corrupt=1"},
}};

std::string signature(const Option& option) {
  return option.value.empty() ? std::string(option.name)
                              : fmt::format("{} {}", option.name, option.value);
}

std::string usage_of(const Command& command) {
  return fmt::format("assay {}{}{} [OPTION]...", command.name,
                     command.positionals.empty() ? "" : " ", command.positionals);
}

/// Lines of `text`; calls `line(content, is_example)`.
template <typename Callback>
void for_each_line(std::string_view text, Callback line) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    line(content, content.starts_with("  "));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string_view heading_of(CommandGroup group) {
  return command_groups[static_cast<std::size_t>(group)];
}

/// Lines of a name, padded to `width`, and what it means.
std::string help_entry(std::string_view name, std::size_t width, std::string_view meaning,
                       std::size_t screen) {
  return fmt::format("  {:<{}}{}\n", name, width, wrapped(meaning, width + 2, screen));
}

/// Escapes roff: a backslash and a leading dot or quote are special, and a plain minus may become a
/// hyphen.
std::string roff(std::string_view text) {
  std::string escaped;
  if (text.starts_with('.') || text.starts_with('\'')) escaped = "\\&";
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string roff_details(std::string_view details) {
  std::string page;
  bool example = false;
  for_each_line(details, [&](std::string_view line, bool is_example) {
    if (is_example != example) page += is_example ? ".nf\n" : ".fi\n";
    example = is_example;
    page += line.empty() ? ".PP\n" : roff(line) + "\n";
  });
  return page + (example ? ".fi\n" : "");
}

std::string markdown_details(std::string_view details) {
  std::string page;
  bool example = false;
  for_each_line(details, [&](std::string_view line, bool is_example) {
    if (is_example != example) page += "```\n";
    example = is_example;
    page += fmt::format("{}\n", is_example ? line.substr(2) : line);
  });
  return page + (example ? "```\n" : "");
}

}  // namespace

std::string help_overview(std::size_t screen, const Style& style) {
  std::string help = fmt::format("{}\n\n{}\n  assay COMMAND [ARGUMENT]... [OPTION]...\n",
                                 wrapped(purpose, 0, screen), style.bold("Usage"));
  std::optional<CommandGroup> group;
  for (const Command* command : commands()) {
    if (group != command->group) {
      help += fmt::format("\n{}\n", style.bold(heading_of(command->group)));
    }
    group = command->group;
    help += help_entry(command->name, 14, command->summary, screen);
  }
  help += fmt::format("\n{}\n", style.bold("Exit status"));
  for (const ExitCodeText& text : exit_code_texts) {
    help += help_entry(fmt::format("{}", static_cast<int>(text.code)), 5, text.meaning, screen);
  }
  return help + "\nassay COMMAND --help describes one command, assay man all of them.\n";
}

std::string help_of(const Command& command, std::size_t screen, const Style& style) {
  std::string help = fmt::format("{}\n\n{}\n  {}\n\n", wrapped(command.summary, 0, screen),
                                 style.bold("Usage"), wrapped(usage_of(command), 4, screen));
  if (!command.details.empty()) help += reflowed(command.details, screen) + "\n";
  help += fmt::format("{}\n", style.bold("Options"));
  std::size_t width = 0;
  for (const Option& option : all_options(command)) {
    width = std::max(width, signature(option).size());
  }
  for (const Option& option : all_options(command)) {
    help += help_entry(signature(option), width + 2, option.help, screen);
  }
  return help;
}

std::string man_page() {
  std::string page = fmt::format(".TH ASSAY 1 \"\" \"assay {}\" \"User Commands\"\n", version());
  page += ".SH NAME\nassay \\- find out what a machine's accelerators and CPUs deliver\n";
  page += ".SH SYNOPSIS\n.B assay\n.I COMMAND\n[ARGUMENT]... [OPTION]...\n";
  page += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(purpose));
  for (const Command* command : commands()) {
    page += fmt::format(".SS \"{}\"\n{}.\n.PP\n", roff(usage_of(*command)), roff(command->summary));
    page += roff_details(command->details);
    for (const Option& option : command->options) {
      page += fmt::format(".TP\n.B {}\n{}\n", roff(signature(option)), roff(option.help));
    }
  }
  page += ".SH OPTIONS\nEvery command takes these.\n";
  for (const Option& option : common_options()) {
    page += fmt::format(".TP\n.B {}\n{}\n", roff(signature(option)), roff(option.help));
  }
  page += ".SH EXIT STATUS\n";
  for (const ExitCodeText& text : exit_code_texts) {
    page += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(text.code), roff(text.meaning));
  }
  page += ".SH ENVIRONMENT\n";
  for (const EnvironmentText& text : environment_texts) {
    page += fmt::format(".TP\n.B {}\n{}\n", text.name, roff(text.meaning));
  }
  return page;
}

std::string markdown_manual() {
  std::string page = fmt::format("# Command line\n\n{}\n", purpose);
  page += "\nThis page is `assay man --markdown`.\n\n| | commands |\n|---|---|";
  std::optional<CommandGroup> group;
  for (const Command* command : commands()) {
    if (group != command->group) {
      page += fmt::format("{}\n| {} | ", group ? " |" : "", heading_of(command->group));
    } else {
      page += ", ";
    }
    group = command->group;
    page += command->name;
  }
  page += " |\n";
  for (const Command* command : commands()) {
    page += fmt::format("\n## {}\n\n{}.\n\n```\n{}\n```\n\n", command->name, command->summary,
                        usage_of(*command));
    page += markdown_details(command->details);
    if (command->options.empty()) continue;
    page += "\n| option | |\n|---|---|\n";
    for (const Option& option : command->options) {
      page += fmt::format("| `{}` | {} |\n", signature(option), option.help);
    }
  }
  page += "\n## Options of every command\n\n| option | |\n|---|---|\n";
  for (const Option& option : common_options()) {
    page += fmt::format("| `{}` | {} |\n", signature(option), option.help);
  }
  page += "\n## Exit status\n\n| status | |\n|---|---|\n";
  for (const ExitCodeText& text : exit_code_texts) {
    page += fmt::format("| {} | {} |\n", static_cast<int>(text.code), text.meaning);
  }
  page += "\n## Environment\n\n| variable | |\n|---|---|\n";
  for (const EnvironmentText& text : environment_texts) {
    page += fmt::format("| `{}` | {} |\n", text.name, text.meaning);
  }
  return page;
}

}  // namespace assay::cli
