#include "judge/compare/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/json.h"
#include "core/random.h"
#include "results/store/store.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Writes the stores of a fleet, any node of which can be made odd.
class FleetTest : public testing::Test {
 protected:
  struct Node {
    double factor = 1;  ///< on the bandwidth of `triad`
    std::string governor = "performance";
    bool fails = false;  ///< `copy` fails its verification
    bool lacks_copy = false;
  };

  void write(const std::string& name, const Node& node) {
    auto store = Store::open(folder_.path() / name);
    ASSERT_TRUE(store.ok());
    const Json fingerprint = {{"host", {{"name", name}}}, {"cpu", {{"governor", node.governor}}}};
    Record record;
    record.run = "r";
    record.time = "2026-01-01T00:00:00.000Z";
    record.device.backend = "cpu";
    record.device.name = "cpu";
    record.fingerprint = *store->append_fingerprint(fingerprint);
    for (const char* op : {"copy", "triad"}) {
      const bool copy = std::string(op) == "copy";
      if (copy && node.lacks_copy) continue;
      record.cell = Cell("memory", {{"op", op}});
      record.status = copy && node.fails ? RecordStatus::failed : RecordStatus::passed;
      record.reason = record.status == RecordStatus::failed ? "element 3 is 1" : "";
      record.value.reset();
      if (record.status == RecordStatus::passed) {
        const double value = 1e11 * std::exp(0.003 * random_.normal()) * (copy ? 1 : node.factor);
        record.value = Value{Quantity::bandwidth, value, {value, value}, std::nullopt, {}};
        record.verification = Verification{true, "every element", 0, 0, ""};
      }
      ASSERT_TRUE(store->append(record).ok());
    }
  }

  void write_sound(int from, int to) {
    for (int i = from; i < to; ++i) write("node" + std::to_string(10 + i), {});
  }

  Fleet judged() {
    auto fleet = judge_fleet({folder_.path()}, {}, {});
    EXPECT_TRUE(fleet.ok()) << fleet.error().message;
    return std::move(fleet).value();
  }

  TemporaryFolder folder_;
  Random random_{3};
};

TEST_F(FleetTest, SoundNodesAreAlike) {
  write_sound(0, 12);
  const Fleet fleet = judged();
  EXPECT_EQ(fleet.nodes, 12u);
  EXPECT_EQ(fleet.series, 2u);
  EXPECT_TRUE(fleet.odd.empty());
}

TEST_F(FleetTest, OddNodesAreNamedWithTheirCellsAndWhatSetsThemApart) {
  write_sound(0, 10);
  write("slow1", {.factor = 0.9, .governor = "powersave"});
  write("slow2", {.factor = 0.92, .governor = "powersave"});
  const Fleet fleet = judged();
  ASSERT_EQ(fleet.odd.size(), 2u);
  EXPECT_EQ(fleet.odd[0].name, "slow1");
  ASSERT_EQ(fleet.odd[0].cells.size(), 1u);
  EXPECT_EQ(fleet.odd[0].cells[0].key.cell, "memory op=triad");
  EXPECT_NEAR(fleet.odd[0].cells[0].slower, 1 / 0.9, 0.02);
  EXPECT_LT(fleet.odd[0].cells[0].value, fleet.odd[0].cells[0].median);
  ASSERT_EQ(fleet.odd[0].differences.size(), 1u) << "its name sets every node apart: no cause";
  EXPECT_EQ(fleet.odd[0].differences[0].path, "cpu.governor");
  EXPECT_THAT(fleet.typical, HasSubstr("node"));
}

TEST_F(FleetTest, EveryNodeHasAValueAndWhatWouldHaveGoneUnnoticed) {
  write_sound(0, 11);
  write("slow", {.factor = 0.9});
  const Fleet fleet = judged();
  ASSERT_EQ(fleet.farthest.size(), 12u) << "sound nodes too";
  const auto& [name, cell] = fleet.farthest[0];
  EXPECT_EQ(name, "slow");
  EXPECT_EQ(cell.key.cell, "memory op=triad");
  EXPECT_NEAR(cell.slower, 1 / 0.9, 0.02);
  EXPECT_EQ(fleet.odd.at(0).cells.at(0).detectable, cell.detectable);
  for (const auto& [node, farthest] : fleet.farthest) {
    EXPECT_GE(farthest.detectable, 1.02) << "the margin";
    EXPECT_LT(farthest.detectable, 1.08) << "noise of 0.3%";
    EXPECT_EQ(farthest.odd(), node == "slow") << node;
  }
}

TEST_F(FleetTest, TheDetectableDifferenceIsWhereANodeBecomesOdd) {
  write_sound(0, 11);
  write("near", {.factor = 0.95});
  const NodeCell odd = judged().farthest.at(0).second;
  ASSERT_EQ(odd.key.cell, "memory op=triad");
  for (const double share : {0.7, 1.3}) {
    std::filesystem::remove_all(folder_.path() / "near");
    write("near", {.factor = std::pow(odd.detectable, -share)});
    EXPECT_EQ(judged().odd.size(), share > 1 ? 1u : 0u) << share;
  }
}

TEST_F(FleetTest, WhatManySoundNodesShareExplainsNothing) {
  write_sound(0, 6);
  for (int i = 0; i < 5; ++i) {
    write("other" + std::to_string(i), {.governor = "schedutil"});
  }
  write("slow", {.factor = 0.9, .governor = "schedutil"});
  const Fleet fleet = judged();
  ASSERT_EQ(fleet.odd.size(), 1u);
  for (const Difference& difference : fleet.odd[0].differences) {
    EXPECT_NE(difference.path, "cpu.governor");
  }
}

TEST_F(FleetTest, HalfOfTheNodesSlowerAreTwoGroups) {
  for (int i = 0; i < 8; ++i) {
    write("node" + std::to_string(i), {.factor = i % 2 == 1 ? 1 / 1.3 : 1});
  }
  const Fleet fleet = judged();
  EXPECT_TRUE(fleet.odd.empty());
  ASSERT_EQ(fleet.splits.size(), 1u);
  const SplitCell& split = fleet.splits[0];
  EXPECT_EQ(split.key.cell, "memory op=triad");
  EXPECT_THAT(split.fast.nodes, ElementsAre("node0", "node2", "node4", "node6"));
  EXPECT_THAT(split.slow.nodes, ElementsAre("node1", "node3", "node5", "node7"));
  EXPECT_NEAR(split.slower, 1.3, 0.02);
  EXPECT_GT(split.fast.value, split.slow.value) << "a bandwidth";
  EXPECT_TRUE(fleet.open.empty());
}

/// Some of the slow nodes are far from the median of all, which says nothing if there are two
/// groups.
TEST_F(FleetTest, NoNodeIsAnOutlierInACellInWhichTheFleetIsSplit) {
  for (int i = 0; i < 18; ++i) {
    write("fast" + std::to_string(10 + i), {.factor = std::exp(-0.3 * i / 17), .lacks_copy = true});
  }
  for (int i = 0; i < 6; ++i) {
    write("slow" + std::to_string(i), {.factor = std::exp(-0.8 - 0.3 * i / 5), .lacks_copy = true});
  }
  const Fleet fleet = judged();
  ASSERT_EQ(fleet.splits.size(), 1u);
  EXPECT_EQ(fleet.splits[0].slow.nodes.size(), 6u);
  EXPECT_GT(fleet.farthest.at(0).second.distance(), 1);
  EXPECT_TRUE(fleet.odd.empty());
}

TEST_F(FleetTest, SeriesAreSortedWhicheverNodeIsReadFirst) {
  write("first", {.lacks_copy = true});
  write_sound(0, 6);
  for (const NodeRow& row : judged().rows) {
    EXPECT_EQ(row.cells.back().key.cell, "memory op=triad") << row.name;
  }
}

TEST_F(FleetTest, AGroupOfOddNodesIsSaidOnce) {
  write_sound(0, 9);
  for (const char* name : {"slow1", "slow2", "slow3"}) write(name, {.factor = 0.7});
  const Fleet fleet = judged();
  EXPECT_EQ(fleet.odd.size(), 3u);
  EXPECT_TRUE(fleet.splits.empty());
}

TEST_F(FleetTest, GroupsCloserThanTheMarginDoNotMatter) {
  for (int i = 0; i < 20; ++i) {
    write("node" + std::to_string(10 + i), {.factor = i % 2 == 1 ? 0.97 : 1});
  }
  EXPECT_EQ(judged().splits.size(), 1u);
  const auto fleet = judge_fleet({folder_.path()}, {.margin = 0.05}, {});
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  EXPECT_TRUE(fleet->splits.empty());
}

/// Nodes far apart, each at a place of its own: nobody can say what is normal.
TEST_F(FleetTest, AFleetThatScattersCannotTell) {
  for (int i = 0; i < 6; ++i) {
    write("node" + std::to_string(i), {.factor = std::pow(1.08, i)});
  }
  const Fleet fleet = judged();
  EXPECT_TRUE(fleet.odd.empty());
  EXPECT_TRUE(fleet.splits.empty());
  ASSERT_EQ(fleet.open.size(), 1u);
  EXPECT_EQ(fleet.open[0].second.key.cell, "memory op=triad");
  EXPECT_GT(fleet.open[0].second.detectable, 1.1);
}

TEST_F(FleetTest, SeveralValuesOfOneRunAreNamedWithTheirNode) {
  write_sound(0, 6);
  write("node10", {.factor = 1.001});  // once more, in the same run
  EXPECT_THAT(judged().problems,
              testing::Contains(HasSubstr("node10: run r has several values of memory op=triad")));
}

TEST_F(FleetTest, SmallDistancesDoNotMatter) {
  write_sound(0, 11);
  write("near", {.factor = 0.985});
  EXPECT_TRUE(judged().odd.empty());
}

TEST_F(FleetTest, FailuresAndMissingCellsAreOdd) {
  write_sound(0, 10);
  write("wrong", {.fails = true});
  write("lacking", {.lacks_copy = true});
  folder_.write("broken/records.jsonl", "no record\n");
  const Fleet fleet = judged();
  ASSERT_EQ(fleet.odd.size(), 3u);
  EXPECT_EQ(fleet.odd[0].name, "broken");
  EXPECT_EQ(fleet.odd[1].name, "lacking");
  EXPECT_THAT(fleet.odd[1].missing, ElementsAre("memory op=copy bandwidth"));
  EXPECT_EQ(fleet.odd[2].name, "wrong");
  EXPECT_THAT(fleet.odd[2].faults, ElementsAre(HasSubstr("failed: element 3 is 1")));
}

TEST_F(FleetTest, FewNodesAreNoFleet) {
  write_sound(0, 3);
  const auto few = judge_fleet({folder_.path()}, {}, {});
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(few.error().message, HasSubstr("results of 3 nodes; at least 4 are needed"));
  EXPECT_FALSE(judge_fleet({folder_.path() / "none"}, {}, {}).ok());
}

}  // namespace
}  // namespace assay
