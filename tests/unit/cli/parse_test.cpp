#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>

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

TEST(Parse, NoneOfSeveralValuesHasALineBreak) {
  const auto parsed = parse({"trace", "compare", "a", "--with", "b", "c"});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->arguments.all("--with"), ElementsAre("b", "c"));
  EXPECT_EQ(error_of({"trace", "compare", "a", "--with", "b", "c\nd"}),
            "--with has a line break in its value, which is not allowed");
}

TEST(Parse, AfterTwoDashesAllIsPositional) {
  EXPECT_THAT(parse({"show", "--", "--odd"})->arguments.positionals, ElementsAre("--odd"));
}

TEST(Parse, MistakesGetOneLine) {
  EXPECT_THAT(error_of({"rnu"}),
              StartsWith("unknown command \"rnu\" (did you mean \"run\"?); commands: run, list, "
                         "show, watch, versus, "));
  EXPECT_EQ(error_of({"run", "quick", "--sed", "1"}),
            "run has no option --sed (did you mean \"--seed\"?); its options: --device, --out, "
            "--seed, --price, --budget, --last, --telemetry, --barrier, --ranks, --hosts, "
            "--without-secret, "
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

TEST(Parse, AnotherSpellingMeansTheSameOption) {
  EXPECT_EQ(parse({"doctor", "--check", "acs"})->arguments.get("--only"), "acs");
  EXPECT_EQ(parse({"tune", "--budget=3s", "gemm", "shape=8"})->arguments.get("--unit-budget"),
            "3s");
  EXPECT_TRUE(parse({"tune", "conv", "n=1", "--list"})->arguments.has("--dry-run"));
  EXPECT_EQ(parse({"run", "quick", "-o", "store"})->arguments.get("--out"), "store");
  EXPECT_EQ(parse({"report", "--out", "a.html"})->arguments.get("--output"), "a.html");
  EXPECT_EQ(error_of({"doctor", "--check", "acs", "--only", "acs"}), "--only is given twice");
  EXPECT_EQ(error_of({"doctor", "--check"}), "--check needs a value: --only ID[,ID...]");
}

TEST(Parse, AValueThatMayBeLeftOut) {
  EXPECT_EQ(parse({"serve-sim", "--partitions", "8"})->arguments.get("--partitions"), "8");
  EXPECT_EQ(parse({"serve-sim", "--partitions=8"})->arguments.get("--partitions"), "8");
  const auto parsed = parse({"serve-sim", "--partitions", "--port", "7"});
  EXPECT_TRUE(parsed->arguments.has("--partitions"));
  EXPECT_EQ(parsed->arguments.get("--port"), "7");
  EXPECT_TRUE(parse({"serve-sim", "--partitions"})->arguments.has("--partitions"));
}

/// An option's placeholder says what kind of value it takes: FILE, TIME, SHARE. Brackets only say
/// that the value may be left out.
TEST(Parse, AnOptionTakesTheSameKindOfValueInAllCommands) {
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> seen;
  for (const Command* command : commands()) {
    for (const Option& option : command->options) {
      std::string_view value = option.value;
      if (value.starts_with('[')) value = value.substr(1, value.size() - 2);
      const auto& [of_first, first] =
          seen.try_emplace(option.name, value, command->name).first->second;
      EXPECT_EQ(value, of_first) << option.name << " of " << command->name << " and of " << first;
      EXPECT_FALSE(!option.also.empty() && find_option(command->options, option.also) != &option)
          << option.also << " of " << command->name;
    }
  }
}

TEST(Parse, WhatHasNoJsonRefusesItInOneLine) {
  EXPECT_EQ(error_of({"man", "--json"}), "man has no --json: it prints documents");
  EXPECT_THAT(error_of({"report", "--json"}), HasSubstr("`assay compare --json`"));
  EXPECT_TRUE(parse({"devices", "--json"}).ok());
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
    EXPECT_EQ(help.find("--json") != std::string::npos, command->no_json.empty()) << command->name;
    EXPECT_THAT(man_page(), HasSubstr(command->summary));
  }
  const std::string overview = help_overview(0, plain);
  EXPECT_THAT(overview, HasSubstr("  130  stopped by SIGINT, SIGTERM or SIGHUP"));
  std::size_t at = 0;
  for (const char* group : {"\nMeasure\n  run  ", "\nCompare\n  versus  ", "\nDiagnose\n  doctor  ",
                            "\nLoad and serve\n  load  ", "\nTune\n  tune  ", "\nAbout assay\n"}) {
    const std::size_t found = overview.find(group);
    ASSERT_NE(found, std::string::npos) << group;
    EXPECT_GT(found, at) << group;
    at = found;
  }
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
