#include "measure/suites/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/suites/cells_of_target.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TwoAxes final : public Benchmark {
 public:
  std::string_view name() const override { return "two"; }
  std::string_view summary() const override { return "test"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {{.name = "op",
                                            .description = "",
                                            .kind = Axis::Kind::choice,
                                            .defaults = {"a"},
                                            .choices = {"a", "b"}},
                                           {.name = "n",
                                            .description = "",
                                            .kind = Axis::Kind::integer,
                                            .defaults = {"1"},
                                            .choices = {}}};
    return axes;
  }
  std::optional<std::string> unsupported(const Cell&, const Device&) const override { return {}; }
  Result<std::unique_ptr<Case>> prepare(const Cell&, PrepareContext) const override {
    return Error{ErrorKind::failed, "never prepared"};
  }
};

const Benchmark* lookup(std::string_view name) {
  static const TwoAxes benchmark;
  return name == "two" ? &benchmark : nullptr;
}

constexpr const char* good =
    "name: mine\n"
    "description: two things\n"
    "budget: 90s\n"
    "cells:\n"
    "  - benchmark: two\n"
    "    axes: {op: [a, b], n: 1..4*2}\n"
    "  - benchmark: two\n"
    "    axes: {n: [2, 7]}\n";

std::vector<std::string> ids(const Result<std::vector<Cell>>& cells) {
  std::vector<std::string> ids;
  EXPECT_TRUE(cells.ok()) << (cells.ok() ? "" : cells.error().message);
  if (cells.ok()) {
    for (const Cell& cell : *cells) ids.push_back(cell.id());
  }
  return ids;
}

TEST(Suite, EntriesInOrderEachCellOnce) {
  const auto suite = parse_suite(good, "mine.yaml");
  ASSERT_TRUE(suite.ok()) << suite.error().message;
  EXPECT_EQ(suite->name, "mine");
  EXPECT_EQ(suite->description, "two things");
  EXPECT_DOUBLE_EQ(suite->budget_seconds.value(), 90);
  EXPECT_THAT(ids(cells_of(*suite, {}, lookup)),
              ElementsAre("two op=a n=1", "two op=a n=2", "two op=a n=4", "two op=b n=1",
                          "two op=b n=2", "two op=b n=4", "two op=a n=7"));
}

TEST(Suite, OverridesReplaceAnAxisEverywhere) {
  const auto suite = parse_suite(good, "mine.yaml");
  ASSERT_TRUE(suite.ok());
  EXPECT_THAT(ids(cells_of(*suite, {{"n", "5"}}, lookup)),
              ElementsAre("two op=a n=5", "two op=b n=5"));
  EXPECT_EQ(cells_of(*suite, {{"m", "5"}}, lookup).error().message,
            "suite mine has no axis \"m\"; its axes: op, n");
}

TEST(Suite, AsOneLineItMeansTheSame) {
  const auto suite = parse_suite(good, "mine.yaml");
  ASSERT_TRUE(suite.ok());
  const auto again = parse_suite(inline_text(*suite, {{"n", "5"}}, lookup), "line");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_THAT(ids(cells_of(*again, {}, lookup)), ElementsAre("two op=a n=5", "two op=b n=5"));
  // The machine that gets the line may know a benchmark that this one does not.
  const auto nobody = [](std::string_view) -> const Benchmark* { return nullptr; };
  const auto far = parse_suite(inline_text(*suite, {{"n", "5"}, {"m", "6"}}, nobody), "line");
  ASSERT_TRUE(far.ok()) << far.error().message;
  EXPECT_THAT(ids(cells_of(*far, {}, lookup)), ElementsAre("two op=a n=5", "two op=b n=5"));
}

TEST(Suite, MistakesNameFileLineAndWhatIsAllowed) {
  const auto message = [](std::string yaml) {
    const auto suite = parse_suite(yaml, "s.yaml");
    if (!suite.ok()) return suite.error().message;
    const auto cells = cells_of(*suite, {}, lookup);
    return cells.ok() ? "fine" : cells.error().message;
  };
  const std::string head = "name: s\ndescription: d\n";
  EXPECT_EQ(message(head + "cels: []\n"),
            "s.yaml:3: unknown key \"cels\" (did you mean \"cells\"?); allowed: name, description, "
            "budget, cells");
  EXPECT_EQ(message("name: s\ncells: [{benchmark: two}]\n"),
            "s.yaml:1: \"description\" is missing");
  EXPECT_EQ(message(head), "s.yaml:1: \"cells\" must be a list of {benchmark, axes}");
  EXPECT_EQ(message(head + "cells: []\n"),
            "s.yaml:3: \"cells\" must be a list of {benchmark, axes}");
  EXPECT_EQ(
      message(head + "budget: 5\ncells: [{benchmark: two}]\n"),
      "s.yaml:3: bad duration \"5\": give a number above 0 with ms, s, min or h, e.g. 90s, and "
      "at most 24000h");
  EXPECT_EQ(message(head + "cells:\n  - benchmark: two\n    axis: {n: 1}\n"),
            "s.yaml:5: unknown key \"axis\" (did you mean \"axes\"?); allowed: benchmark, axes");
  EXPECT_EQ(message(head + "cells:\n  - benchmark: two\n    axes:\n      n: 1\n      op: c\n"),
            "s.yaml:7: axis op: \"c\" is not allowed; allowed: a, b");
  EXPECT_EQ(message(head + "cells:\n  - benchmark: two\n    axes: {m: 1}\n"),
            "s.yaml:5: two has no axis \"m\"; its axes: op, n");
  EXPECT_EQ(message(head + "cells:\n  - benchmark: two\n    axes: {n: 1, n: 2}\n"),
            "s.yaml:5: key \"n\" is given twice");
  EXPECT_EQ(message(head + "cells:\n  - benchmark: two\n    axes: {n: []}\n"),
            "s.yaml:5: axis n needs a value or a list of values");
  EXPECT_THAT(message(head + "cells:\n  - benchmark: tow\n"),
              HasSubstr("s.yaml:4: unknown benchmark \"tow\""));
  EXPECT_THAT(message("name: [s\n"), HasSubstr("s.yaml:2: "));
  EXPECT_EQ(message("- 1\n"), "s.yaml:1: a suite is a map with name, description, cells");
  EXPECT_EQ(message(""), "s.yaml:1: a suite is a map with name, description, cells");
  EXPECT_THAT(message("name: s\n\tdescription: d\n"), HasSubstr("s.yaml:2: "));
}

TEST(Suite, FilesThatCannotBeReadSayWhy) {
  EXPECT_EQ(load_suite("/nonexistent/s.yaml").error().message,
            "cannot read /nonexistent/s.yaml: No such file or directory");
}

TEST(Suite, AllBuiltInSuitesAreValid) {
  const auto suites = built_in_suites();
  ASSERT_TRUE(suites.ok()) << suites.error().message;
  EXPECT_GE(suites->size(), 4u);
  for (const Suite& suite : *suites) {
    EXPECT_FALSE(ids(cells_of(suite, {})).empty()) << suite.name;
    EXPECT_EQ(suite.file, suite.name + ".yaml");
    // `run memory size=1GiB` must mean the same whether memory is the suite or the benchmark.
    if (find_benchmark(suite.name) != nullptr) {
      ASSERT_EQ(suite.entries.size(), 1u) << suite.name;
      EXPECT_EQ(suite.entries.front().benchmark, suite.name);
    }
  }
}

TEST(Plan, UnknownTargetsGetSuggestions) {
  EXPECT_THAT(make_plan("quikc", {}).error().message,
              HasSubstr("no suite or benchmark \"quikc\" (did you mean \"quick\"?)"));
  // Names of other tools for the same things.
  EXPECT_THAT(make_plan("rccl", {}).error().message, HasSubstr("did you mean \"collective\"?"));
  EXPECT_THAT(make_plan("memcpy", {}).error().message, HasSubstr("did you mean \"copy\"?"));
  EXPECT_THAT(make_plan("memori", {}).error().message, HasSubstr("did you mean \"memory\"?"));
}

TEST(Plan, BenchmarksSuitesAndFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "mine.yaml";
  std::ofstream(path) << "name: mine\ndescription: d\ncells: [{benchmark: launch}]\n";
  EXPECT_EQ(make_plan(path, {})->name, "mine");
  EXPECT_EQ(make_plan("quick", {})->name, "quick");
  EXPECT_TRUE(make_plan("quick", {})->budget_seconds.has_value());
  EXPECT_EQ(make_plan("memory", {{"op", "triad"}, {"size", "1MiB"}})->cells.size(), 1u);
}

}  // namespace
}  // namespace assay
