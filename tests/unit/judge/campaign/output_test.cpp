// What units print, what studies conclude, what a campaign's folder accepts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "core/json.h"
#include "core/write_file.h"
#include "judge/campaign/campaign_writer.h"
#include "judge/campaign/partition_study.h"
#include "judge/campaign/unit_output.h"
#include "results/store/record_json.h"
#include "support/temporary_folder.h"
#include "support/test_record.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string environment_line(const std::string& id = "0123456789abcdef") {
  return "{\"id\":\"" + id + "\",\"fingerprint\":{\"host\":{\"name\":\"x\"}}}";
}

TEST(UnitOutput, RecordsAreStoredUnderTheirEnvironment) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  UnitOutput output(*store);
  output.take("Welcome to the machine");
  output.take(environment_line());
  output.take(to_json(passed_record()).dump() + "\r");
  output.take("");
  EXPECT_EQ(output.problem(), "");
  EXPECT_EQ(output.run(), passed_record().run);
  EXPECT_EQ(output.cells(), 1u);
  EXPECT_EQ(output.values().size(), 1u);
  const auto stored = read_records(folder.path());
  ASSERT_EQ(stored->records.size(), 1u);
  const Json fingerprint = Json::parse("{\"host\":{\"name\":\"x\"}}");
  EXPECT_EQ(stored->records[0].fingerprint, fingerprint_id(fingerprint));
}

TEST(UnitOutput, HostileLinesAreNamedAndStoreNothing) {
  const auto problem = [](const std::vector<std::string>& lines) {
    const TemporaryFolder folder;
    auto store = Store::open(folder.path());
    UnitOutput output(*store);
    for (const std::string& line : lines) output.take(line);
    EXPECT_TRUE(read_records(folder.path())->records.size() <= 1);
    return output.problem();
  };
  const std::string record = to_json(passed_record()).dump();
  EXPECT_EQ(problem({"{"}), "line 1 of its output: it is not JSON");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(problem({deep}), HasSubstr("line 1 of its output: "));
  EXPECT_THAT(problem({"{}"}), HasSubstr("line 1 of its output: field "));
  EXPECT_THAT(problem({record}), HasSubstr("a record came without its environment"));
  EXPECT_THAT(problem({environment_line(), record.substr(0, record.size() / 2)}),
              HasSubstr("line 2 of its output: it is not JSON"));
  Record other = passed_record();
  other.run = "another";
  EXPECT_THAT(problem({environment_line(), record, to_json(other).dump()}),
              HasSubstr("line 3 of its output: its run is \"another\""));
  EXPECT_THAT(problem({"{\"id\":5,\"fingerprint\":{}}"}), HasSubstr("line 1 of its output: "));
}

TEST(UnitOutput, WhatTheStoreRefusesIsNotTheUnitsProblem) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  UnitOutput output(*store);
  output.take(environment_line());
  EXPECT_TRUE(output.stored().ok());
  std::filesystem::remove(folder.path() / "records.jsonl");
  output.take(to_json(passed_record()).dump());
  EXPECT_EQ(output.problem(), "");
  ASSERT_FALSE(output.stored().ok());
  EXPECT_THAT(output.stored().error().message, HasSubstr("it was deleted or replaced"));
}

CampaignPlan plan_with(const std::string& text) {
  CampaignPlan plan;
  plan.text = text;
  plan.measure = {"run", "quick"};
  return plan;
}

std::string open_problem(const std::filesystem::path& path, const CampaignPlan& plan) {
  const auto folder = CampaignFolder::open(path, plan);
  return folder.ok() ? "" : folder.error().message;
}

TEST(CampaignFolder, ContinuesOnlyItsOwnPlan) {
  const TemporaryFolder parent;
  const auto path = parent.path() / "campaign";
  EXPECT_EQ(open_problem(path, plan_with("c: 1\n")), "");
  // Nothing is measured yet, so the plan may change: the first look may have refused it.
  EXPECT_EQ(open_problem(path, plan_with("a: 1\nb: 2\n")), "");
  EXPECT_TRUE(is_campaign(path));
  EXPECT_TRUE(CampaignFolder::open(path, plan_with("a: 1\nb: 2\n"))->append(UnitLine()).ok());
  EXPECT_EQ(open_problem(path, plan_with("a: 1\nb: 2\n")), "");
  EXPECT_THAT(open_problem(path, plan_with("a: 1\nb: 3\n")),
              HasSubstr("was begun with another plan: plan.yaml:2: was \"b: 2\", is \"b: 3\"; "
                        "restore the plan, or give another folder with --out"));
  CampaignPlan other = plan_with("a: 1\nb: 2\n");
  other.measure = {"run", "{}"};
  EXPECT_THAT(open_problem(path, other), HasSubstr("a suite file has changed since"));
}

TEST(CampaignFolder, IsUsedByOneProcessAndHoldsNothingElse) {
  const TemporaryFolder parent;
  const auto first = CampaignFolder::open(parent.path() / "c", plan_with("a"));
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(open_problem(parent.path() / "c", plan_with("a")),
              HasSubstr("is in use by another assay campaign"));
  parent.write("d/thesis.txt", "");
  EXPECT_THAT(open_problem(parent.path() / "d", plan_with("a")), HasSubstr("holds thesis.txt"));
  EXPECT_THAT(open_problem(parent.path() / "d" / "thesis.txt", plan_with("a")),
              HasSubstr("thesis.txt"));
}

TEST(CampaignFolder, StartsAfreshAfterADeathDuringItsCreation) {
  const TemporaryFolder parent;
  const auto path = parent.path() / "c";
  std::filesystem::create_directories(path);
  const pid_t child = ::fork();
  if (child == 0) {  // ends in the middle of the file, as if killed
    const rlimit file_size{16, 16}, core{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &file_size);
    ::setrlimit(RLIMIT_CORE, &core);
    ::signal(SIGXFSZ, SIG_DFL);
    (void)write_file(path / "measure.json", std::string(1000, 'x'));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  ASSERT_FALSE(std::filesystem::is_empty(path));
  ASSERT_FALSE(std::filesystem::exists(path / "measure.json"));
  EXPECT_EQ(open_problem(path, plan_with("a")), "");
}

TEST(UnitOutput, KnowsTheMostThatOthersTookOfTheCpus) {
  const TemporaryFolder folder;
  auto store = Store::open(folder.path());
  UnitOutput output(*store);
  output.take(environment_line());
  EXPECT_FALSE(output.taken_share().has_value());
  Record record = passed_record();
  record.telemetry.emplace();
  record.telemetry->summary.host.others_share = 0.9;
  output.take(to_json(record).dump());
  EXPECT_FALSE(output.taken_share().has_value());  // its device is no CPU
  record.device.backend = "cpu";
  for (const double others : {0.1, 0.3, 0.2}) {
    record.telemetry.emplace();
    record.telemetry->summary.host.others_share = others;
    record.telemetry->summary.host.steal_share = 0.05;
    output.take(to_json(record).dump());
  }
  EXPECT_EQ(output.problem(), "");
  EXPECT_NEAR(output.taken_share().value_or(0), 0.35, 1e-12);
}

TEST(CampaignFolder, BringsBackValuesOfCompleteUnitsAlone) {
  const TemporaryFolder parent;
  auto folder = CampaignFolder::open(parent.path() / "c", plan_with("a"));
  ASSERT_TRUE(folder.ok());
  auto store = Store::open(folder->path() / "host");
  for (const char* run : {"r0", "r1", "r2"}) {
    Record record = passed_record();
    record.run = run;
    ASSERT_TRUE(store->append(record).ok());
    UnitLine line;
    line.unit = {"host", run, static_cast<std::size_t>(run[1] - '0'), run[1] != '1'};
    ASSERT_TRUE(folder->append(line).ok());
  }
  UnitLine elsewhere;
  elsewhere.unit = {"../../etc", "r0", 0, true};
  ASSERT_TRUE(folder->append(elsewhere).ok());
  const auto history = folder->history();
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_EQ(history->lines.size(), 4u);
  EXPECT_EQ(history->values.size(), 2u);
  EXPECT_EQ(history->values.count({"host", 1}), 0u);
  EXPECT_EQ(history->values.at({"host", 2}).size(), 1u);
}

using Values = std::map<std::pair<std::string, std::size_t>, UnitValues>;

UnitValues one(double value, Better better) {
  return {{{"cell", "m"},
           {"m", value, {value, value}, better == Better::higher ? "bytes/s" : "s", better}}};
}

TEST(Study, SumWorstAndInterference) {
  const StudyPlan study{{"p", "q"}, {"p", "q"}, "w"};
  Values values;
  for (std::size_t pair = 0; pair < 4; ++pair) {
    const double wiggle = pair % 2 == 0 ? 1.01 : 1 / 1.01;
    values[{"p", pair}] = one(10, Better::higher);
    values[{"q", pair}] = one(12, Better::higher);
    values[{"p-together", pair}] = one(8 * wiggle, Better::higher);
    values[{"q-together", pair}] = one(6 * wiggle, Better::higher);
    values[{"w", pair}] = one(20, Better::higher);
  }
  const auto cells = conclude_study(study, values);
  ASSERT_EQ(cells.size(), 1u);
  const StudyCell& cell = cells[0];
  EXPECT_EQ(cell.worst, "q");
  EXPECT_NEAR(cell.parts[0].interference.ratio, 0.8, 1e-12);
  EXPECT_NEAR(cell.parts[1].interference.ratio, 0.5, 1e-12);
  EXPECT_EQ(cell.parts[1].interference.pairs, 4u);
  // Four logarithms of +-ln 1.01: s = ln 1.01 * sqrt(4/3), t(0.975, 3) = 3.182446.
  const double half = 3.182446 * std::log(1.01) * std::sqrt(4.0 / 3) / 2;
  EXPECT_NEAR(cell.parts[0].interference.interval95.low, 0.8 * std::exp(-half), 1e-6);
  EXPECT_NEAR(*cell.sum, 14, 0.01);
  EXPECT_NEAR(*cell.whole, 20, 1e-12);
  EXPECT_NEAR(cell.sum_to_whole->ratio, 0.7, 1e-12);
}

TEST(Study, SharesDoNotAddUp) {
  Values values;
  for (const char* name : {"p", "q", "p-together", "q-together"}) {
    values[{name, 0}] = one(0.9, Better::higher);
    for (auto& [key, value] : values[{name, 0}]) value.unit = "1";
  }
  const auto cells = conclude_study({{"p", "q"}, {"p", "q"}, ""}, values);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_FALSE(cells[0].sum);
}

TEST(Study, LatenciesDoNotAddUp) {
  const StudyPlan study{{"p", "q"}, {"p", "q"}, ""};
  Values values;
  for (std::size_t pair = 0; pair < 4; ++pair) {
    values[{"p", pair}] = values[{"q", pair}] = one(1, Better::lower);
    values[{"p-together", pair}] = one(2, Better::lower);
    values[{"q-together", pair}] = one(3, Better::lower);
  }
  const auto cells = conclude_study(study, values);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].worst, "q");
  EXPECT_FALSE(cells[0].sum);
  EXPECT_NEAR(cells[0].parts[1].interference.ratio, 3, 1e-12);
  EXPECT_TRUE(to_json(cells[0])["parts"].is_array());
}

TEST(Study, WhatOnePartitionLacksIsLeftOut) {
  const StudyPlan study{{"p", "q"}, {"p", "q"}, ""};
  Values values;
  values[{"p", 0}] = values[{"p-together", 0}] = values[{"q", 0}] = one(1, Better::higher);
  EXPECT_TRUE(conclude_study(study, values).empty());
  EXPECT_TRUE(conclude_study(study, {}).empty());
}

}  // namespace
}  // namespace assay
