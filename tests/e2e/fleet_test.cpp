// assay fleet as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/process.h"
#include "support/accepted_runs.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(FleetCommand, SaysOfEachNodeWhereItStands) {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) {
    auto store = Store::open(folder.path() / ("node" + std::to_string(i)));
    ASSERT_TRUE(store.ok());
    const double factor = i == 7 ? 0.5 : 1 + 0.001 * i;
    ASSERT_TRUE(store->append(sound_record(0, factor * 1000)).ok());
  }
  const Outcome text = assay_run({"fleet", folder.path()});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("1 of 8 nodes is an outlier"));
  EXPECT_THAT(text.out, HasSubstr("  node7 takes 100.5% more time than the fleet's median in "));
  EXPECT_THAT(text.out, HasSubstr("  node0 takes 0.2% more time than the fleet's median in "));
  EXPECT_THAT(text.out, HasSubstr("% would have gone unnoticed there.\n"));
  const Json json = Json::parse(assay_run({"fleet", folder.path(), "--json"}).out);
  ASSERT_EQ(json["farthest"].size(), 8u);
  EXPECT_EQ(json["farthest"][0]["node"], "node7");
  EXPECT_EQ(json["farthest"][0]["detectable_ratio"],
            json["odd"][0]["cells"][0]["detectable_ratio"]);
}

TEST(FleetCommand, ShowsNodesByCells) {
  const TemporaryFolder folder;
  std::vector<std::string> words = {"fleet"};
  for (int i = 0; i < 8; ++i) {
    const auto node = folder.path() / ("node" + std::to_string(i));
    auto store = Store::open(node);
    ASSERT_TRUE(store.ok());
    for (const char* op : {"copy", "triad"}) {
      const bool slow = i == 7 && std::string(op) == "triad";
      ASSERT_TRUE(store->append(sound_record(0, (slow ? 0.5 : 1 + 0.001 * i) * 1000, op)).ok());
    }
    words.push_back(node);
  }
  const std::string page = folder.path() / "fleet.html";
  const Outcome text = assay_run({"fleet", folder.path(), "--table", "-o", page});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("node   outlier  op=triad\n"));
  EXPECT_THAT(text.out, HasSubstr("  all cells: memory\n  metric: bandwidth\n"));
  EXPECT_THAT(text.out, HasSubstr("node7  yes      +100."));
  EXPECT_THAT(text.out, HasSubstr("and 1 cell with no node beyond 2%: --all\n"));
  EXPECT_THAT(Process::read(page), HasSubstr("Are these 8 nodes alike?"));
  words.push_back("--csv");
  const Outcome csv = assay_run(words);  // the nodes' folders give the same as the folder of all
  EXPECT_EQ(csv.out, assay_run({"fleet", folder.path(), "--csv"}).out);
  EXPECT_THAT(csv.out, testing::StartsWith(
                           "node,outlier,memory op=copy bandwidth,memory op=triad bandwidth\r\n"));
  const Json json = Json::parse(assay_run({"fleet", folder.path(), "--json"}).out);
  ASSERT_EQ(json["rows"].size(), 8u);
  EXPECT_EQ(json["rows"][7]["cells"].size(), 2u);
  const std::string twin = folder.path() / "node1/..//node1";
  const Outcome twice = assay_run({"fleet", words[1], words[2], twin, words[4]});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("are both called node1"));
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// The text and the exit status say the same: two groups, cannot tell, alike.
TEST(FleetCommand, AlikeIsSaidOnlyOfNodesThatAre) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& rack, int node, double gigabytes) {
    auto store = Store::open(folder.path() / rack / ("node" + std::to_string(node)));
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->append(sound_record(0, gigabytes)).ok());
  };
  for (int i = 0; i < 8; ++i) {
    write("split", i, (i % 2 == 1 ? 700 : 1000) + i);
    write("scattered", i, 1000 * (1 + 0.08 * i));
    write("alike", i, 1000 + i);
  }
  const Outcome split = assay_run({"fleet", folder.path() / "split"});
  EXPECT_EQ(split.status, 1);
  EXPECT_THAT(split.out, HasSubstr("The 8 nodes fall into two groups in 1 of 1 series"));
  EXPECT_THAT(split.out, HasSubstr("the fast 4: node0, node2, node4, node6\n"));
  EXPECT_THAT(split.out, HasSubstr("the slow 4: node1, node3, node5, node7\n"));
  EXPECT_THAT(split.out, HasSubstr("+42."));
  const Json json = Json::parse(assay_run({"fleet", folder.path() / "split", "--json"}).out);
  ASSERT_EQ(json["groups"].size(), 1u);
  EXPECT_EQ(json["groups"][0]["slow"]["nodes"][3], "node7");
  const Outcome scattered = assay_run({"fleet", folder.path() / "scattered"});
  EXPECT_EQ(scattered.status, 6);
  EXPECT_THAT(scattered.out, HasSubstr("Too noisy to tell whether all 8 nodes are alike"));
  EXPECT_THAT(scattered.out, HasSubstr("Next: measure these cells again on all nodes"));
  EXPECT_THAT(scattered.out,
              HasSubstr("The other nodes, each where it is farthest from the fleet"));
  EXPECT_EQ(lines_with(scattered.out, "node0 takes "), 1u) << scattered.out;
  const Outcome alike = assay_run({"fleet", folder.path() / "alike"});
  EXPECT_EQ(alike.status, 0);
  EXPECT_THAT(alike.out, HasSubstr("All 8 nodes are alike in 1 series"));
}

}  // namespace
}  // namespace assay
