// assay fleet as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accepted_runs.h"
#include "core/json.h"
#include "process.h"

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
  EXPECT_THAT(text.out, HasSubstr("1 of 8 nodes is odd"));
  EXPECT_THAT(text.out, HasSubstr("  node7 takes 100.5% more time than the fleet's median in "));
  EXPECT_THAT(text.out, HasSubstr("  node0 takes 0.2% more time than the fleet's median in "));
  EXPECT_THAT(text.out, HasSubstr("% would have gone unnoticed there.\n"));
  const Json json = Json::parse(assay_run({"fleet", folder.path(), "--json"}).out);
  ASSERT_EQ(json["farthest"].size(), 8u);
  EXPECT_EQ(json["farthest"][0]["node"], "node7");
  EXPECT_EQ(json["farthest"][0]["detectable_ratio"],
            json["odd"][0]["cells"][0]["detectable_ratio"]);
}

}  // namespace
}  // namespace assay
