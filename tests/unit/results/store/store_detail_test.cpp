// How much of each record is read from a store.
#include <gtest/gtest.h>

#include "core/json.h"
#include "results/store/record_json.h"
#include "results/store/store.h"
#include "support/temporary_folder.h"
#include "support/test_record.h"

namespace assay {
namespace {

TEST(StoreDetail, ReadingsAreReadWhereTheyAreNeeded) {
  const TemporaryFolder folder;
  std::string lines;
  for (const char* run : {"a", "b", "b", "c"}) {
    Record record = passed_record();
    record.run = run;
    if (record.run != "c") {
      record.telemetry.emplace();
      record.telemetry->summary.host.others_share = 0.25;
      record.telemetry->trace.seconds = {0, 1};
      record.telemetry->trace.channels = {{"gpu0", "power", "W", ChannelKind::gauge, ""}};
      record.telemetry->trace.values = {{300, 400}};
    }
    lines += to_json(record).dump() + "\n";
  }
  folder.write("records.jsonl", lines);
  const auto channels = [&](Detail detail) {
    std::vector<std::size_t> counts;
    const auto stored = read_records(folder.path(), detail);
    EXPECT_TRUE(stored.ok());
    EXPECT_EQ(stored->records.size(), 4u);
    for (const Record& record : stored->records) {
      if (!record.telemetry) continue;
      EXPECT_EQ(record.telemetry->summary.host.others_share, 0.25);
      counts.push_back(record.telemetry->trace.channels.size());
    }
    return counts;
  };
  using Counts = std::vector<std::size_t>;
  EXPECT_EQ(channels(Detail::whole), (Counts{1, 1, 1}));
  EXPECT_EQ(channels(Detail::summary), (Counts{0, 0, 0}));
  EXPECT_EQ(channels(Detail::last_readings), (Counts{0, 1, 1}));
}

}  // namespace
}  // namespace assay
