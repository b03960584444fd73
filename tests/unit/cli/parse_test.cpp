#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>

#include "cli/manual.h"
#include "cli/screen_text.h"
#include "support/temporary_folder.h"

namespace assay::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::vector<std::string>& words) {
  const auto parsed = parse(words);
  return parsed.ok() ? "accepted" : parsed.error().message;
}

TEST(Parse, OptionsAndPositionalsInAnyOrder) {
  const auto parsed =
      parse({"run", "--seed=7", "memory", "--json", "op=copy", "--device", "cuda:0"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->command->name, "run");
  EXPECT_THAT(parsed->arguments.positionals, ElementsAre("memory", "op=copy"));
  EXPECT_EQ(parsed->arguments.get("--seed"), "7");
  EXPECT_EQ(parsed->arguments.get("--device"), "cuda:0");
  EXPECT_TRUE(parsed->arguments.has("--json"));
  EXPECT_FALSE(parsed->arguments.has("--out"));
  EXPECT_EQ(parsed->arguments.get("--out", "here"), "here");
}

TEST(Parse, AfterTwoDashesAllIsPositional) {
  EXPECT_THAT(parse({"show", "--", "--odd"})->arguments.positionals, ElementsAre("--odd"));
}

TEST(Parse, MistakesGetOneLine) {
  EXPECT_THAT(error_of({"rnu"}),
              StartsWith("unknown command \"rnu\"; did you mean \"run\"?; commands: devices, list, "
                         "run, show, "));
  EXPECT_EQ(error_of({"run", "quick", "--sed", "1"}),
            "run has no option --sed; did you mean \"--seed\"?; its options: --device, --out, "
            "--seed, --budget, --last, --telemetry, --barrier, --ranks, --hosts, --without-secret, "
            "--repeat, --patience, "
            "--dry-run, --check, "
            "--json, --color, --help");
  EXPECT_EQ(error_of({"run", "quick", "--out"}), "--out needs a value: --out DIR");
  EXPECT_EQ(error_of({"run", "quick", "--out="}), "--out needs a value: --out DIR");
  EXPECT_EQ(error_of({"run", "quick", "--json=1"}), "--json takes no value");
  EXPECT_EQ(error_of({"run", "quick", "--seed", "1", "--seed", "2"}), "--seed is given twice");
  EXPECT_THAT(error_of({"run"}), HasSubstr("usage: assay run SUITE|BENCHMARK"));
  EXPECT_THAT(error_of({"devices", "x"}), HasSubstr("takes no arguments"));
  EXPECT_THAT(error_of({"--json", "devices"}), HasSubstr("comes before the command"));
}

TEST(Parse, HelpNeedsNoArguments) {
  EXPECT_TRUE(parse({})->arguments.has("--help"));
  EXPECT_TRUE(parse({"run", "-h"})->arguments.has("--help"));
  EXPECT_TRUE(parse({"--version"})->arguments.has("--version"));
}

TEST(Manual, HelpNamesEveryOptionAndExitStatus) {
  const Style plain(false);
  for (const Command* command : commands()) {
    const std::string help = help_of(*command, 0, plain);
    for (const Option& option : command->options) EXPECT_THAT(help, HasSubstr(option.name));
    EXPECT_THAT(help, HasSubstr("--json"));
    EXPECT_THAT(man_page(), HasSubstr(command->summary));
  }
  EXPECT_THAT(help_overview(0, plain), HasSubstr("  130  stopped by SIGINT, SIGTERM or SIGHUP"));
}

TEST(Manual, HelpFitsTheScreenButForExamples) {
  constexpr std::size_t screen = 80;
  std::string help = help_overview(screen, Style(false));
  for (const Command* command : commands()) help += help_of(*command, screen, Style(false));
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    const bool example = line.starts_with("  assay ") || line.starts_with("  mpirun ");
    if (!example) EXPECT_LE(display_width(line), screen) << line;
  }
}

TEST(Manual, DocsAreTheMarkdownManual) {
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/cli.md");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(text == markdown_manual()) << "write it again: assay man --markdown > docs/cli.md";
}

}  // namespace
}  // namespace assay::cli
