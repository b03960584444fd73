// What `assay tune conv` lists, does, keeps, and reads of MIOpen's databases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "advise/tune/conv/convolution_list.h"
#include "advise/tune/conv/convolution_runs.h"
#include "advise/tune/conv/convolution_tuner.h"
#include "advise/tune/conv/kept_records.h"
#include "advise/tune/conv/miopen_databases.h"
#include "cli/advise/tune_conv_view.h"
#include "core/read_file.h"
#include "measure/suites/cells_of_target.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// A layer of ResNet-50 and its like.
ConvolutionProblem layer(std::int64_t n, std::int64_t c, std::int64_t k, std::int64_t extent,
                         std::int64_t filter = 1, std::int64_t stride = 1) {
  ConvolutionProblem p;
  p.type = DataType::f16;
  p.n = n;
  p.c = c;
  p.k = k;
  p.in = {extent, extent, 0};
  p.filter = {filter, filter, 0};
  p.stride = {stride, stride, 1};
  p.pad = {filter / 2, filter / 2, 0};
  return p;
}

DeviceFacts facts_of(const char* backend) {
  DeviceFacts facts;
  facts.backend = backend;
  facts.max_threads_per_block = 1024;
  return facts;
}

/// The first five are lines of the database that MIOpen 3 has for MI300X.
TEST(MiopenDatabases, KeysAreMiopens) {
  ConvolutionProblem p = layer(16, 1008, 192, 14);
  EXPECT_EQ(find_database_key(p), "1008-14-14-1x1-192-14-14-16-0x0-1x1-1x1-0-NCHW-FP16-F");
  p = layer(16, 512, 1024, 28, 1, 2);
  p.direction = ConvolutionDirection::data;
  EXPECT_EQ(find_database_key(p), "1024-14-14-1x1-512-28-28-16-0x0-2x2-1x1-0-NCHW-FP16-B");
  p.direction = ConvolutionDirection::weights;
  p.type = DataType::f32;
  EXPECT_EQ(find_database_key(p), "1024-14-14-1x1-512-28-28-16-0x0-2x2-1x1-0-NCHW-FP32-W");
  p = layer(16, 1024, 1024, 14, 3);
  p.direction = ConvolutionDirection::data;
  p.groups = 32;
  EXPECT_EQ(find_database_key(p), "1024-14-14-3x3-1024-14-14-16-1x1-1x1-1x1-0-NCHW-FP16-B_g32");
  p = layer(1, 256, 256, 0, 3);
  p.in = {608, 416, 0};
  p.type = DataType::bf16;
  EXPECT_EQ(find_database_key(p), "256-608-416-3x3-256-608-416-1-1x1-1x1-1x1-0-NCHW-BF16-F");

  // A line of a log of MIOpen: [NCHW,FP32,F,2,24,340,340,1,3,3,1,24,1,1,1,0,1,1,0,1,1,0,0,1].
  ConvolutionProblem logged = layer(1, 24, 24, 340, 3);
  logged.type = DataType::f32;
  EXPECT_EQ(performance_database_key(logged),
            "2x24x340x340x1x3x3x1x24x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF");
  p.channels_last = true;
  EXPECT_EQ(find_database_key(p),
            "256-608-416-3x3-256-608-416-1-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-F");
  p.dimensions = 3;
  p.in = {4, 8, 6};
  p.filter = {3, 1, 5};
  p.pad = {1, 0, 2};
  p.stride = {1, 2, 3};
  p.dilation = {1, 1, 2};
  EXPECT_EQ(performance_database_key(p),
            "3x256x8x6x4x1x5x3x256x1x0x2x1x2x3x1x1x2x1x0x1xNDHWCxBF16xF");
  EXPECT_EQ(find_database_key(p),
            "256-4-8-6-3x1x5-256-4-4-1-1-1x0x2-1x2x3-1x1x2-0-NDHWC-NDHWC-NDHWC-BF16-F");
}

TEST(MiopenDatabases, ChangesAreTold) {
  const TemporaryFolder folder;
  const auto here = folder.path() / "db", there = folder.path() / "copy";
  EXPECT_THAT(read_miopen_databases(here).value(), IsEmpty());
  const auto file = folder.write("file", "no folder");
  EXPECT_FALSE(read_miopen_databases(file).ok());
  EXPECT_FALSE(copy_miopen_databases(file, there).ok());
  folder.write("db/gfx942130.HIP.3_4_0_a.ufdb.txt",
               "one=SolverA:0.5,0,miopenConvolutionFwdAlgoGEMM;SolverB:0.25,64,x\n"
               "two=SolverA:0.5,0,miopenConvolutionFwdAlgoGEMM\n");
  folder.write("db/gfx942130.HIP.3_4_0_a.udb.txt", "1x2=SolverB:1,2\n");
  folder.write("db/gfx942130_1.1.0.udb", std::string("SQLite format 3\0one", 19));
  folder.write("db/gfx942130.ukdb", "kernels, which are no setting");
  ASSERT_TRUE(copy_miopen_databases(here, there).ok());
  const auto before = read_miopen_databases(there).value();
  EXPECT_EQ(before.size(), 3u);
  EXPECT_THAT(database_changes(before, read_miopen_databases(here).value()), IsEmpty());

  folder.write("db/gfx942130.HIP.3_4_0_a.ufdb.txt",
               "one=SolverA:0.5,0,miopenConvolutionFwdAlgoGEMM;SolverB:0.25,64,x\n"
               "\nwithout a key\n=nor this\n"
               "three=SolverA:0.125,0,y;SolverB:1e-3,0,y;broken\n"
               "two=SolverA:0.75,0,miopenConvolutionFwdAlgoGEMM\n");
  folder.write("db/gfx942130.HIP.3_4_0_a.udb.txt", "1x2=SolverB:1,2\n3x4=SolverA:5;SolverB:6,7\n");
  folder.write("db/gfx942130_1.1.0.udb", std::string("SQLite format 3\0two", 19));
  const auto changes = database_changes(before, read_miopen_databases(here).value());
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_EQ(changes[0].file, "gfx942130.HIP.3_4_0_a.udb.txt");
  EXPECT_EQ(changes[0].key, "3x4");
  EXPECT_TRUE(changes[0].added);
  EXPECT_EQ(summary_of(changes[0]), "SolverA, SolverB");
  EXPECT_EQ(changes[1].key, "three");
  EXPECT_EQ(summary_of(changes[1]), "SolverB 0.001 ms");
  EXPECT_EQ(changes[2].key, "two");
  EXPECT_FALSE(changes[2].added);
  EXPECT_EQ(changes[3].file, "gfx942130_1.1.0.udb");
  EXPECT_FALSE(changes[3].added);
  EXPECT_EQ(summary_of(changes[3]), "");
}

TEST(MiopenDatabases, NamedRecordsBecomeWhatTheyWere) {
  const TemporaryFolder folder;
  const auto find = folder.write("a.HIP.1.ufdb.txt", "four=D:4\none=A:1\nthree=C:3\ntwo=B:2\n");
  const auto performance = folder.write("a.HIP.1.udb.txt", "1x1=A:1\n");
  const auto sqlite = folder.write("a_1.1.0.udb", "one=");
  const MiopenDatabases origin = {{"a.HIP.1.ufdb.txt", {{"one", "A:0"}, {"four", "D:4"}}},
                                  {"b.HIP.1.ufdb.txt", {{"two", "B:0"}}}};
  const std::vector<std::string> keys = {"one", "two", "four", "1x1", "absent"};
  EXPECT_EQ(restore_records(folder.path(), origin, keys).value(), 4u);
  EXPECT_EQ(read_file(find), "four=D:4\none=A:0\nthree=C:3\n");
  EXPECT_EQ(read_file(performance), "");
  EXPECT_EQ(read_file(sqlite), "one=");
  EXPECT_EQ(read_file(folder.path() / "b.HIP.1.ufdb.txt"), "two=B:0\n") << "a lost database";
  EXPECT_EQ(restore_records(folder.path(), origin, keys).value(), 0u);
}

TEST(MiopenDatabases, LinesThatNobodyNamedStayAsTheyAre) {
  const TemporaryFolder folder;
  const auto find =
      folder.write("a.HIP.1.ufdb.txt", "z=Z:1\nno record\n=nor this\n\none=A:1\none=A:2\nb=B:1");
  const MiopenDatabases origin = {{"a.HIP.1.ufdb.txt", {{"one", "A:0"}, {"lost", "L:1"}}}};
  const std::vector<std::string> keys = {"one", "lost"};
  EXPECT_EQ(restore_records(folder.path(), origin, keys).value(), 3u);
  EXPECT_EQ(read_file(find), "z=Z:1\nno record\n=nor this\n\none=A:0\nb=B:1\nlost=L:1\n");
}

TEST(ConvolutionList, CellsAreConvolutionsOnce) {
  const auto cells = make_plan("conv", {{"c", "8"},
                                        {"k", "8"},
                                        {"h", "6"},
                                        {"direction", "forward,data"},
                                        {"find", "first,best"}})
                         .value()
                         .cells;
  const ConvolutionList list = convolutions_of_cells(cells, facts_of("hip"));
  ASSERT_EQ(list.problems.size(), 2u);
  EXPECT_EQ(list.problems[1].problem.direction, ConvolutionDirection::data);
  EXPECT_EQ(list.problems[1].problem.n, 64);  // as the device decides
}

TEST(ConvolutionList, LogsSayHowOftenAndThatDecidesTheOrder) {
  const TemporaryFolder folder;
  const std::string large = "MIOpenDriver convfp16 -n 64 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -F 1\n";
  const std::string small = "MIOpenDriver convfp16 -n 1 -c 8 -H 28 -W 28 -k 8 -y 3 -x 3 -F 1\n";
  std::string log = large + "MIOpen(HIP): Command [LogCmdConvolution] ./bin/" + small;
  for (int i = 0; i < 1000; ++i) log += small;
  log += large + "something else\nMIOpenDriver convfp16 -n 0 -F 1\n";
  const auto list = convolutions_of_log(folder.write("log", log));
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->left_out_count, 1u);
  EXPECT_THAT(list->left_out.front(), HasSubstr("log:1005: "));
  ConvolutionList both = *list;
  both.problems.push_back({layer(1, 8, 8, 4), 1});
  both.problems.back().problem.type = DataType::tf32;
  const ConvolutionList sorted = ordered(both, facts_of("hip"));
  ASSERT_EQ(sorted.problems.size(), 2u);
  EXPECT_EQ(sorted.problems[0].problem.n, 64);
  EXPECT_EQ(sorted.problems[0].count, 2u);
  EXPECT_EQ(sorted.problems[1].count, 1001u);
  EXPECT_EQ(sorted.left_out_count, 2u);
  EXPECT_THAT(sorted.left_out.back(), HasSubstr("not tf32"));
  ConvolutionList many;
  for (int i = 0; i < 15; ++i) many.leave_out("a line");
  many.append(ConvolutionList(many));
  EXPECT_EQ(many.left_out.size(), ConvolutionList::most_left_out);
  EXPECT_EQ(many.left_out_count, 30u);
  EXPECT_THAT(convolutions_of_log(folder.write("text", "nothing\n")).error().message,
              HasSubstr("MIOPEN_ENABLE_LOGGING_CMD=1"));
  EXPECT_FALSE(convolutions_of_log(folder.path() / "absent").ok());
}

/// An outcome of each kind, each of another convolution.
std::vector<ConvolutionOutcome> outcomes_of_each_kind() {
  std::vector<ConvolutionOutcome> all(6);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].convolution = {layer(16, 64, 64 << i, 56), 1};
    all[i].before = {"GEMM", 2e-3};
    all[i].after = {"Winograd", 1e-3};
    all[i].pairs = 10;
  }
  all[0].faster = true;
  all[1].slower = true;
  all[2].equal = true;
  all[3].pairs = 4;
  all[4].reason = "tuned: element [0] is 1, should be 2";
  return all;  // the last is undecided
}

TEST(ConvolutionsKept, OnlyWhatIsProvenToBeFasterStays) {
  const TemporaryFolder folder;
  auto outcomes = outcomes_of_each_kind();
  std::string find, performance;
  for (const ConvolutionOutcome& outcome : outcomes) {
    find += find_database_key(outcome.convolution.problem) + "=A:1\n";
    performance += performance_database_key(outcome.convolution.problem) + "=A:2\n";
  }
  const auto find_file = folder.write("a.HIP.1.ufdb.txt", find + "other=A:3\n");
  const auto performance_file = folder.write("a.HIP.1.udb.txt", performance);
  const std::string was = find_database_key(outcomes[4].convolution.problem);
  const auto taken = take_back_unproven(
      folder.path(), {{"a.HIP.1.ufdb.txt", {{was, "B:1"}, {"other", "A:3"}}}}, outcomes);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_EQ(taken->records, 10u);
  EXPECT_EQ(taken->convolutions, 5u);
  EXPECT_THAT(taken->unmended, IsEmpty());
  const ConvolutionProblem& faster = outcomes[0].convolution.problem;
  EXPECT_EQ(read_file(find_file), find_database_key(faster) + "=A:1\n" + was + "=B:1\nother=A:3\n");
  EXPECT_EQ(read_file(performance_file), performance_database_key(faster) + "=A:2\n");
  for (const ConvolutionOutcome& outcome : outcomes) EXPECT_FALSE(outcome.stays);

  // A database that is no text cannot be repaired.
  folder.write("a_1.1.0.udb", "SQLite");
  EXPECT_THAT(take_back_unproven(folder.path(), {}, outcomes)->unmended,
              ElementsAre("a_1.1.0.udb"));
  EXPECT_FALSE(outcomes[0].stays);
  EXPECT_TRUE(outcomes[1].stays);
  EXPECT_EQ(to_json(outcomes[4])["stays"], true);
}

TEST(ConvolutionsKept, EachOutcomeSaysWhatItIs) {
  auto outcomes = outcomes_of_each_kind();
  const auto text = [&] { return cli::tuned_convolutions_text(outcomes, 400, cli::Style(false)); };
  EXPECT_THAT(text(), AllOf(HasSubstr("GEMM -> Winograd"), HasSubstr("slower, proven: not kept"),
                            HasSubstr("equal: not kept"), HasSubstr("undecided: not kept"),
                            HasSubstr("only 4 pairs, a proof needs 6: not kept"),
                            HasSubstr("should be 2"), HasSubstr("1 of 5 convolutions faster"),
                            HasSubstr("10.00 ms before, 9.000 ms after")));
  outcomes[5].pairs = 0;
  outcomes[1].stays = outcomes[4].stays = true;
  EXPECT_THAT(text(), AllOf(HasSubstr("nothing better: the library's own choice is the fastest"),
                            HasSubstr("slower, proven: may stay in the databases"),
                            HasSubstr("should be 2: may stay in the databases")));
}

/// Speeds of three convolutions as scripted, and what was run.
class ScriptedRuns {
 public:
  static inline const std::vector<CountedConvolution> all = {
      {layer(16, 64, 64, 56), 3}, {layer(16, 64, 64, 56, 3), 1}, {layer(16, 64, 128, 56), 1}};
  static std::string name(std::size_t i) { return describe(all[i].problem); }

  /// By convolution, the time before over that after.
  std::map<std::string, double> gains = {{name(0), 1.5}, {name(1), 1}, {name(2), 0.8}};
  std::map<std::string, std::string> fails_to_find;  // with reasons
  std::string first;                                 // whose first choice is the fastest
  std::string leaves_no_result;                      // of its search
  std::string fails_when_tuned;
  std::map<std::string, std::size_t> has_time_from;  // the call from which on
  int stops_after = 1000;
  std::vector<std::string> calls;

  RunConvolutions function() {
    return [this](ConvolutionRole role, std::span<const ConvolutionProblem> problems) {
      return run(role, problems);
    };
  }

 private:
  Result<MeasuredConvolutions> run(ConvolutionRole role,
                                   std::span<const ConvolutionProblem> problems) {
    if (static_cast<int>(calls.size()) == stops_after) {
      return Error{ErrorKind::interrupted, "stopped"};
    }
    const bool before = role == ConvolutionRole::before;
    calls.emplace_back(role == ConvolutionRole::search ? "search" : before ? "before" : "tuned");
    calls.back() += " " + std::to_string(problems.size());
    MeasuredConvolutions measured;
    for (const ConvolutionProblem& problem : problems) {
      const std::string name = describe(problem);
      if (role == ConvolutionRole::search && fails_to_find.contains(name)) {
        return Error{ErrorKind::failed, fails_to_find.at(name)};
      }
      if (role == ConvolutionRole::search && name == leaves_no_result) continue;
      const auto late = has_time_from.find(name);
      if (role != ConvolutionRole::search && late != has_time_from.end() &&
          calls.size() < late->second) {
        continue;
      }
      MeasuredConvolution& one = measured[name];
      if (role == ConvolutionRole::tuned && name == fails_when_tuned) {
        one.reason = "element [0] is 1, should be 2";
        continue;
      }
      // The machine is never quite the same.
      const double noise = 1 + 0.001 * static_cast<double>(calls.size() % 5);
      one.seconds = noise * 1e-3 / (before ? 1 : gains.at(name));
      one.algorithm = before ? "GEMM" : "implicit GEMM";
      one.first = role == ConvolutionRole::search && name == first;
    }
    return measured;
  }
};

class Witness final : public TuningWitness {
 public:
  std::vector<std::size_t> begun;
  int known_steps = 0;
  std::vector<std::string> results;

  void begins(ConvolutionRole, std::size_t steps) override { begun.push_back(steps); }
  void known() override { ++known_steps; }
  void doing(std::string_view) override {}
  void done(std::string_view, double, std::string_view result) override {
    results.emplace_back(result);
  }
};

class ConvolutionTuning : public testing::Test {
 protected:
  Result<ConvolutionSteps> tune(ScriptedRuns& runs) {
    TuningJournal journal = TRY(TuningJournal::open(folder.path(), {{"what", "assay tune conv"}}));
    return tune_convolutions(folder.path(), journal, ScriptedRuns::all, 6, runs.function(),
                             witness);
  }
  static std::vector<ConvolutionOutcome> outcomes(const ConvolutionSteps& steps) {
    return outcomes_of(ScriptedRuns::all, steps, DeviceFacts());
  }
  std::string journal() const {
    return read_file(folder.path() / TuningJournal::name).value_or("");
  }

  const TemporaryFolder folder;
  Witness witness;
};

TEST_F(ConvolutionTuning, FasterSlowerAndNothingBetterAreProven) {
  ScriptedRuns runs;
  const auto steps = tune(runs);
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  EXPECT_THAT(runs.calls, ElementsAre("search 1", "search 1", "search 1",            //
                                      "before 3", "tuned 3", "tuned 3", "before 3",  //
                                      "before 3", "tuned 3", "tuned 3", "before 3",  //
                                      "before 3", "tuned 3", "tuned 3", "before 3"));
  EXPECT_THAT(witness.begun, ElementsAre(3, 12));
  const auto found = outcomes(*steps);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].faster);
  EXPECT_NEAR(found[0].gain, 1.5, 0.01);
  EXPECT_LT(found[0].gain_low, 1.5);
  EXPECT_GT(found[0].gain_high, 1.5);
  EXPECT_NEAR(found[0].before.seconds, 1e-3, 1e-5);
  EXPECT_NEAR(found[0].best_seconds(), 1e-3 / 1.5, 1e-5);
  EXPECT_EQ(found[0].before.algorithm, "GEMM");
  EXPECT_EQ(found[0].after.algorithm, "implicit GEMM");
  EXPECT_EQ(found[0].pairs, 6u);
  EXPECT_FALSE(found[1].faster || found[1].slower);
  EXPECT_TRUE(found[1].equal);
  EXPECT_FALSE(found[0].equal || found[2].equal);
  EXPECT_TRUE(found[2].slower);
  EXPECT_EQ(found[2].best_seconds(), found[2].before.seconds);
  EXPECT_EQ(to_json(found[0])["calls"], 3);
}

TEST_F(ConvolutionTuning, WhatCannotBeTunedSaysWhyAndStopsNothing) {
  ScriptedRuns runs;
  runs.fails_to_find[ScriptedRuns::name(0)] = "its process ended with status 139: ";
  runs.fails_when_tuned = ScriptedRuns::name(1);
  runs.first = ScriptedRuns::name(2);
  const auto steps = tune(runs);
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  const auto found = outcomes(*steps);
  EXPECT_EQ(found[0].reason, "its process ended with status 139: ");
  EXPECT_EQ(found[1].reason, "tuned: element [0] is 1, should be 2");
  EXPECT_EQ(found[2].reason, "");
  EXPECT_EQ(found[2].pairs, 0u);  // its first choice needs no proof
  EXPECT_EQ(found[2].before.seconds, found[2].after.seconds);
  EXPECT_EQ(runs.calls.back(), "before 1");
  EXPECT_THAT(witness.results, testing::Contains("the library's own choice is the fastest"));
}

TEST_F(ConvolutionTuning, ASearchWithoutAResultIsNoFind) {
  ScriptedRuns runs;
  runs.leaves_no_result = ScriptedRuns::name(0);
  const auto steps = tune(runs);
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  EXPECT_EQ(outcomes(*steps)[0].reason, "its search left no result");
}

/// The first runs of a proof compile kernels, for all the time that there is.
TEST_F(ConvolutionTuning, WhatARunHadNoTimeForHasAPairLess) {
  ScriptedRuns runs;
  runs.gains[ScriptedRuns::name(1)] = runs.gains[ScriptedRuns::name(2)] = 1.5;
  // The log has 3 searches and 12 runs.
  runs.has_time_from = {{ScriptedRuns::name(1), 5}, {ScriptedRuns::name(2), 15}};
  const auto steps = tune(runs);
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  const auto found = outcomes(*steps);
  EXPECT_EQ(found[0].pairs, 6u);
  EXPECT_EQ(found[1].pairs, 5u);
  EXPECT_NEAR(found[1].gain, 1.5, 0.01);
  EXPECT_THAT(found[2].reason, HasSubstr("--budget"));
}

TEST_F(ConvolutionTuning, NothingIsRunIfNothingIsLeftToProve) {
  ScriptedRuns runs;
  for (std::size_t i = 0; i < 3; ++i) runs.fails_to_find[ScriptedRuns::name(i)] = "no";
  ASSERT_TRUE(tune(runs).ok());
  EXPECT_EQ(runs.calls.size(), 3u);
}

/// Stopped before every one of its steps, it takes each once.
TEST_F(ConvolutionTuning, GoesOnWhereItWas) {
  std::vector<std::string> calls;
  for (int step = 0; step < 15; ++step) {
    ScriptedRuns runs;
    runs.stops_after = 1;
    const auto stopped = tune(runs);
    ASSERT_EQ(stopped.ok(), step == 14);
    if (!stopped.ok()) EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
    calls.insert(calls.end(), runs.calls.begin(), runs.calls.end());
    std::ofstream(folder.path() / TuningJournal::name, std::ios::app) << R"({"step": "ru)";
  }
  ScriptedRuns none;
  none.stops_after = 0;
  witness.known_steps = 0;
  const auto steps = tune(none);
  ASSERT_TRUE(steps.ok()) << steps.error().message;
  EXPECT_EQ(witness.known_steps, 15);
  EXPECT_EQ(calls.size(), 15u);
  EXPECT_EQ(calls[3], "before 3");
  EXPECT_EQ(calls[4], "tuned 3");
  EXPECT_EQ(calls[5], "tuned 3");
  EXPECT_TRUE(outcomes(*steps)[0].faster);
}

TEST_F(ConvolutionTuning, DamagedJournalsAreRefused) {
  ScriptedRuns runs;
  ASSERT_TRUE(tune(runs).ok());
  const std::string whole = journal();
  std::size_t number = 1;
  for (std::size_t at = whole.find('\n') + 1; at < whole.size(); ++number) {
    const std::size_t end = whole.find('\n', at);
    const Json step = Json::parse(whole.substr(at, end - at));
    for (const auto& [name, value] : step.items()) {
      for (const bool other : {false, true}) {
        Json damaged = step;
        damaged.erase(name);
        if (other) damaged[name] = Json::array({5});
        ConvolutionSteps steps;
        EXPECT_FALSE(add_step(steps, damaged).ok()) << number << " " << name;
      }
    }
    at = end + 1;
  }
  EXPECT_EQ(number, 16u);
  folder.write(TuningJournal::name, whole + "{\"step\": \"dance\"}\n");
  const auto refused = tune(runs);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("journal.jsonl:17: "), HasSubstr("no step")));
}

/// MIOpen reads where its databases lie once for each process.
TEST(ConvolutionWays, SearchProofAndBeforeHaveTheirDatabases) {
  const auto variables = [](ConvolutionRole role, const char* before) {
    std::map<std::string, std::string> named;
    for (const auto& [name, value] : miopen_way(role, "/new", before).variables) {
      named[name] = value;
    }
    return named;
  };
  EXPECT_THAT(variables(ConvolutionRole::search, "/old"),
              ElementsAre(Pair("MIOPEN_FIND_ENFORCE", "SEARCH_DB_UPDATE"),
                          Pair("MIOPEN_USER_DB_PATH", "/new")));
  EXPECT_THAT(variables(ConvolutionRole::tuned, "/old"),
              ElementsAre(Pair("MIOPEN_USER_DB_PATH", "/new")));
  EXPECT_THAT(variables(ConvolutionRole::before, "/old"),
              ElementsAre(Pair("MIOPEN_USER_DB_PATH", "/old")));
  EXPECT_THAT(variables(ConvolutionRole::before, ""), IsEmpty());
  EXPECT_EQ(chosen_way(ConvolutionRole::before, "/own").find, "first");
  EXPECT_EQ(chosen_way(ConvolutionRole::tuned, "/own").find, "best");
}

TEST(TuningJournal, AFolderWithATuningOfAnotherKindIsRefused) {
  const TemporaryFolder folder;
  folder.write("tuning.yaml", "parameters: {}\n");
  const auto refused = TuningJournal::open(folder.path(), {{"what", "assay tune conv"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("a tuning of another kind"), HasSubstr("--out")));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / TuningJournal::name));
}

}  // namespace
}  // namespace assay
