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
}

TEST(List, ALineForEachNameSuitesFirst) {
  const std::string text = assay_run({"list"}).out;
  std::istringstream lines(text);
  std::size_t names = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    names += line.find("  ") != std::string::npos ? 1 : 0;
  }
  const Json list = Json::parse(assay_run({"list", "--json"}).out);
  EXPECT_EQ(names, list["benchmarks"].size() + list["suites"].size());
  EXPECT_THAT(text, StartsWith("suite\n"));
  EXPECT_LT(text.find("\nquick "), text.find("\nbenchmark\n"));
  EXPECT_LT(text.find("\nbenchmark\n"), text.find("\nattention "));
}

TEST(List, ANameOfASuiteAndABenchmarkShowsWhatRunMeasures) {
  const std::string text = assay_run({"list", "memory"}).out;
  EXPECT_THAT(text, StartsWith("memory  suite: "));
  EXPECT_THAT(text, HasSubstr("memory    op=all size=1MiB..8GiB*2 dtype=f64 cache=hot\n"));
  EXPECT_THAT(text, HasSubstr("`assay run memory` measures this suite"));
  EXPECT_THAT(text, HasSubstr("\nmemory  benchmark: "));
  EXPECT_THAT(assay_run({"list", "quick"}).out, HasSubstr("16 cells in 0:50;"));
}

TEST(Json, EveryCommandPrintsItOrRefusesItInOneLine) {
  const TemporaryFolder folder;
  const std::string store = folder.path() / "store";
  assay_run(
      {"run", "memory", "op=copy", "size=1MiB", "dtype=f64", "--device", "fake", "--out", store});
  const std::string plan =
      folder.write("plan.yaml", assay_run({"campaign", "--example", "host"}).out);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"devices"},
           {"list"},
           {"show", store},
           {"compare", store, store},
           {"diff", store, "here"},
           {"fingerprint"},
           {"doctor", "--only", "numa-balancing"},
           {"schema"},
           {"occupancy", "--vgprs", "132", "--waves", "4", "--arch", "gfx942"},
           {"serve-sim", "--partitions", "8", "--predict", "2"},
           {"run", "quick", "--dry-run"},
           {"campaign", plan, "--dry-run"},
           {"tune", "gemm", "shape=32", "--dry-run", "--device", "cpu"},
           {"watch", "--count", "1", "--interval", "0.1"}}) {
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const Outcome outcome = assay_run(with_json);
    EXPECT_NE(outcome.out, "") << words.front() << outcome.err;
    std::istringstream lines(outcome.out);
    bool all_lines = true;
    for (std::string line; std::getline(lines, line);) all_lines &= Json::accept(line);
    EXPECT_TRUE(all_lines || Json::accept(outcome.out)) << words.front() << outcome.out;
  }
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"report", store},
                                             {"help"},
                                             {"man"},
                                             {"completion", "bash"},
                                             {"campaign", "--example", "host"},
                                             {"tune", "command", "--example", "triton"}}) {
    std::vector<std::string> with_json = words;
    with_json.emplace_back("--json");
    const Outcome outcome = assay_run(with_json);
    EXPECT_EQ(outcome.status, 2) << words.front();
    EXPECT_EQ(outcome.out, "") << words.front();
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("--json"));
  }
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
  EXPECT_THAT(overview.out, HasSubstr("\nCompare\n  versus "));
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

TEST(Compare, AGateWritesTwoFiles) {
  const Outcome outcome = assay_run({"compare", "a", "b", "--alarms", "1/year", "--every", "day",
                                     "--comment", "gate", "--junit", "./gate"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--comment and --junit both name gate; name two files"));
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
  EXPECT_EQ(complete("assay tune command --example tr", 4), "triton\n");
  EXPECT_EQ(complete("assay campaign --example s", 3), "scaling slurm ssh\n");
  EXPECT_EQ(complete("assay serve --model llama3-7", 3), "llama3-70b\n");
  EXPECT_EQ(complete("assay tune gemm --model 13", 4), "13B\n");
  EXPECT_EQ(complete("assay tune gemm", 2), "gemm\n");
  EXPECT_EQ(complete("assay versus d", 2), "docker:\n");
  EXPECT_EQ(complete("assay versus host b", 3), "bubblewrap bubblewrap:\n");
  EXPECT_EQ(complete("assay versus --suite qu", 3), "quick\n");
  EXPECT_EQ(complete("assay help serve-", 2), "serve-sim\n");
  EXPECT_EQ(complete("assay help glo", 2), "glossary\n");
  EXPECT_EQ(complete("assay list qu", 2), "quick\n");
  EXPECT_EQ(complete("assay import --input-format nccl", 3), "nccl-tests nccl-tests-json\n");
  EXPECT_EQ(complete("assay show --benchmark mem", 3), "memory\n");
  EXPECT_EQ(complete("assay doctor --only iom", 3), "iommu\n");
  EXPECT_EQ(complete("assay campaign --example par", 3), "partition\n");
  EXPECT_EQ(complete("assay diff h", 2), "here\n");
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
