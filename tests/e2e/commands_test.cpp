// Commands that measure nothing, and the binary itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/process.h"
#include "support/sanitized.h"

namespace assay {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Devices, EveryBackendIsThereOrSaysWhyNot) {
  const Outcome outcome = assay_run({"devices", "--json"});
  EXPECT_EQ(outcome.status, 0);
  std::vector<std::string> names;
  for (const Json& backend : Json::parse(outcome.out)) {
    names.push_back(backend["backend"]);
    if (backend["score"] == 0) {
      EXPECT_GT(backend["absent"].get<std::string>().size(), 10u);
    } else {
      EXPECT_FALSE(backend["devices"].empty());
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cpu", "cuda", "fake", "hip"}));
  EXPECT_THAT(assay_run({"devices"}).out, HasSubstr("cpu:0 "));
}

TEST(List, BenchmarksAxesAndSuites) {
  const Json list = Json::parse(assay_run({"list", "--json"}).out);
  EXPECT_GE(list["benchmarks"].size(), 4u);
  EXPECT_GE(list["suites"].size(), 5u);
  for (const Json& benchmark : list["benchmarks"]) {
    EXPECT_FALSE(benchmark["axes"].empty()) << benchmark["name"];
  }
  EXPECT_THAT(assay_run({"list"}).out, HasSubstr("quick"));
}

TEST(List, CountsTheCellsOfADryRun) {
  const Json list = Json::parse(assay_run({"list", "--json"}).out);
  bool some_are_left_out = false;
  for (const Json& suite : list["suites"]) {
    if (suite["name"] == "scaling") continue;  // as many cells as powers of two up to --ranks
    for (const char* device : {"cpu", "fake"}) {
      const Outcome run =
          assay_run({"run", suite["name"], "--dry-run", "--json", "--device", device});
      EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), suite["cells"])
          << suite["name"] << " on " << device;
    }
    EXPECT_GE(suite["combinations"], suite["cells"]);
    some_are_left_out = some_are_left_out || suite["combinations"] > suite["cells"];
  }
  EXPECT_TRUE(some_are_left_out);  // for example, the kind of host memory for d2d copies
}

TEST(Help, EveryCommandHasIt) {
  EXPECT_THAT(assay_run({}).out, HasSubstr("Exit status"));
  for (const char* command : {"devices", "list", "run", "show", "schema", "man", "completion"}) {
    const Outcome outcome = assay_run({command, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("assay " + std::string(command)));
  }
  const std::string version = assay_run({"--version"}).out;
  EXPECT_THAT(version, StartsWith("assay 0."));
  EXPECT_EQ(assay_run({"-V"}).out, version);
}

TEST(Help, TheDocumentsTravelInTheBinary) {
  const Outcome overview = assay_run({"help"});
  EXPECT_THAT(overview.out, HasSubstr("Topics\n  campaigns  "));
  EXPECT_EQ(assay_run({"help", "campaigns"}).out,
            Process::read(ASSAY_SOURCE_DIR "/docs/campaigns.md"));
  EXPECT_EQ(assay_run({"help", "run"}).out, assay_run({"run", "--help"}).out);
  // A command and a document of one name: both.
  const std::string doctor = assay_run({"help", "doctor"}).out;
  EXPECT_THAT(doctor, HasSubstr("assay doctor"));
  EXPECT_THAT(doctor, HasSubstr(Process::read(ASSAY_SOURCE_DIR "/docs/doctor.md")));
  const Outcome unknown = assay_run({"help", "campain"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"campaign\"?"));
}

TEST(List, OneBenchmarkOrSuiteByName) {
  const Json memory = Json::parse(assay_run({"list", "memory", "--json"}).out);
  EXPECT_EQ(memory["benchmarks"].size(), 1u);
  EXPECT_EQ(memory["benchmarks"][0]["name"], "memory");
  const Outcome axes = assay_run({"run", "memory", "--help"});
  EXPECT_EQ(axes.out, assay_run({"list", "memory"}).out);
  EXPECT_THAT(axes.out, HasSubstr("bytes of one array"));
  EXPECT_EQ(axes.out.back(), '\n');
  EXPECT_EQ(axes.out.find("gemm"), std::string::npos);
  EXPECT_EQ(assay_run({"run", "memory", "op=copy", "--help"}).out, axes.out);
  EXPECT_THAT(assay_run({"run", "quick", "--help"}).out, HasSubstr("suite"));
  // What is no name of either gets the command's help.
  EXPECT_EQ(assay_run({"run", "mine.yaml", "--help"}).out, assay_run({"run", "--help"}).out);
  const Outcome unknown = assay_run({"list", "memry"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"memory\"?"));
}

TEST(Schema, IsTheOneInDocs) {
  EXPECT_EQ(assay_run({"schema"}).out, Process::read(ASSAY_SOURCE_DIR "/docs/record.schema.json"));
}

TEST(Completion, ShellsAcceptTheScripts) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const TemporaryFolder folder;
    const Outcome script = assay_run({"completion", shell});
    EXPECT_THAT(script.out, HasSubstr("quick"));
    const std::string path = folder.write("script", script.out);
    if (std::system(("command -v " + std::string(shell) + " >/dev/null").c_str()) != 0) continue;
    EXPECT_EQ(std::system((std::string(shell) + " -n " + path).c_str()), 0) << shell;
  }
}

TEST(Completion, BashCompletesCommandsOptionsAndAxes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("script", assay_run({"completion", "bash"}).out);
  const auto complete = [&](const std::string& words, int index) {
    return Process({"-c", "compopt() { :; }; . " + path + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=" + std::to_string(index) +
                              "; _assay; echo \"${COMPREPLY[*]}\""},
                   {}, "", "/bin/bash")
        .wait()
        .out;
  };
  EXPECT_EQ(complete("assay de", 1), "devices\n");
  EXPECT_EQ(complete("assay run --bud", 2), "--budget\n");
  EXPECT_EQ(complete("assay run memory si", 3), "size=\n");
  EXPECT_EQ(complete("assay run --color ne", 3), "never\n");
  // bash splits words at "=".
  EXPECT_EQ(complete("assay run memory op = tr", 5), "triad\n");
  EXPECT_THAT(complete("assay run memory op =", 4), StartsWith("copy mul add"));
  EXPECT_EQ(complete("assay run quick cache = c", 5), "cold\n");
  EXPECT_EQ(complete("assay run --color = ne", 4), "never\n");
  EXPECT_EQ(complete("assay tune com", 2), "command\n");
  EXPECT_EQ(complete("assay tune gemm sha", 3), "shape=\n");
  EXPECT_EQ(complete("assay tune gemm --rot", 3), "--rotate\n");
  EXPECT_EQ(complete("assay tune serve --rot", 3), "\n");
  EXPECT_EQ(complete("assay tune gemm --precision t", 4), "tf32\n");
  EXPECT_EQ(complete("assay tune command --example t", 4), "triton\n");
  EXPECT_EQ(complete("assay campaign --example s", 3), "slurm ssh\n");
  EXPECT_EQ(complete("assay serve --model llama3-7", 3), "llama3-70b\n");
  EXPECT_EQ(complete("assay tune gemm --model 13", 4), "13B\n");
  EXPECT_EQ(complete("assay tune gemm", 2), "gemm\n");
  // Not the word "file": bash itself completes those.
  EXPECT_EQ(complete("assay tune gemm --from fi", 4), "\n");
  EXPECT_EQ(complete("assay run --out " + folder.path().string(), 3),
            folder.path().string() + "\n");
}

TEST(Tree, ANewBenchmarkIsOneFileAndANewBackendOneFolder) {
  if (is_sanitized) GTEST_SKIP() << "shown by the ordinary build";
  const std::filesystem::path binary = ASSAY_BINARY;
  const Outcome outcome = Process({ASSAY_SOURCE_DIR "/tests/e2e/one_file_one_folder.sh",
                                   ASSAY_SOURCE_DIR, binary.parent_path()},
                                  {}, "", "/bin/bash")
                              .wait();
  EXPECT_EQ(outcome.out, "all found\n") << outcome.err;
}

TEST(Binary, NeedsOnlyTheCLibrary) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer build needs its own libraries";
  const Outcome outcome = Process({ASSAY_BINARY}, {}, "", "/usr/bin/ldd").wait();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream stream(outcome.out);
  for (std::string line; std::getline(stream, line);) {
    const std::string name = line.substr(line.find_first_not_of(" \t"));
    EXPECT_TRUE(name.starts_with("libc.so.6 ") || name.starts_with("libm.so.6 ") ||
                name.starts_with("libdl.so.2 ") || name.starts_with("libpthread.so.0 ") ||
                name.starts_with("librt.so.1 ") || name.starts_with("linux-vdso.so.1 ") ||
                name.find("ld-linux") != std::string::npos)
        << line;
  }
}

/// Which symbols of the program need a newer glibc than `most`.
Outcome glibc_needs(const std::string& most) {
  const std::string binary = ASSAY_BINARY;
  return Process({ASSAY_SOURCE_DIR "/scripts/glibc-needs", binary, most, binary + ".map"}, {}, "",
                 "/bin/bash")
      .wait();
}

TEST(Binary, StartsOnGlibc2_34) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer build is not for other machines";
  const Outcome outcome = glibc_needs("2.34");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

TEST(Binary, ASymbolOfANewerGlibcIsNamedWithTheObjectThatNeedsIt) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer build is not for other machines";
  const Outcome outcome = glibc_needs("2.2.5");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("memfd_create needs glibc 2.27, more than 2.2.5; referred to "
                                     "by: "));
  EXPECT_THAT(outcome.out, ContainsRegex("memfd_create .* by: .*\\.o"));
}

}  // namespace
}  // namespace assay
