#include "results/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Timeline, ACorrelationBelongsToOneProcess) {
  constexpr std::uint64_t most = (std::uint64_t{1} << 48) - 1;
  EXPECT_EQ(number_in_process(0, 7), 7u);
  EXPECT_NE(number_in_process(1, 7), 7u);
  EXPECT_NE(number_in_process(1, most), number_in_process(2, most));
  // Numbers that do not fit would be those of another process.
  EXPECT_EQ(number_in_process(0, (std::uint64_t{1} << 48) | 7), no_number);
  EXPECT_EQ(number_in_process(65536, 7), no_number);
  EXPECT_EQ(number_in_process(65535, most), no_number);
  EXPECT_EQ(number_in_process(3, no_number), no_number);
}

TEST(DecimalTime, KeepsNanosecondsThatADoubleWouldLose) {
  EXPECT_EQ(decimal_time("6500000000000.001", 3), 6500000000000001);
  EXPECT_EQ(decimal_time("5001650443483.83", 3), 5001650443483830);
  EXPECT_EQ(decimal_time("1751410836000000123", 0), 1751410836000000123);
  EXPECT_EQ(decimal_time("1751410836000123", 3), 1751410836000123000);
  EXPECT_EQ(decimal_time("0", 3), 0);
  EXPECT_EQ(decimal_time("-1.5", 3), -1500);
  EXPECT_EQ(decimal_time("+.5", 3), 500);
  EXPECT_EQ(decimal_time("1.5e3", 3), 1500000);
  EXPECT_EQ(decimal_time("15000E-1", 0), 1500);
}

TEST(DecimalTime, RoundsFurtherDigitsAndHalvesToTheEvenNeighbour) {
  EXPECT_EQ(decimal_time("0.0005", 3), 0);
  EXPECT_EQ(decimal_time("0.0015", 3), 2);
  EXPECT_EQ(decimal_time("0.00050000000000000000000000000000000000001", 3), 1);
  EXPECT_EQ(decimal_time("0.00049999999999999999999999999999999999999", 3), 0);
  EXPECT_EQ(decimal_time("2.500", 0), 2);
  EXPECT_EQ(decimal_time("3.500", 0), 4);
  EXPECT_EQ(decimal_time("9e-400", 3), 0);
  EXPECT_EQ(decimal_time("0e400", 3), 0);
}

TEST(DecimalTime, RefusesWhatIsNoNumberOrTooLate) {
  for (const char* text : {"", "-", ".", "NaN", "Infinity", "1x", "1e", "1e+", "1.2.3", "0x10",
                           "1e30", "9000000000000000000", "123456789012345678901234567890123456"}) {
    EXPECT_FALSE(decimal_time(text, 0)) << text;
  }
}

TEST(Timeline, StoresTextsLanesAndDetailsOnce) {
  Timeline timeline;
  const TextId name = timeline.text_id("kernel");
  EXPECT_EQ(timeline.text_id("kernel"), name);
  EXPECT_NE(timeline.text_id("other"), name);
  EXPECT_EQ(timeline.text(0), "");
  EXPECT_EQ(timeline.lane_id({name, 0, true}), timeline.lane_id({name, 0, true}));
  EXPECT_NE(timeline.lane_id({name, 0, true}), timeline.lane_id({name, 0, false}));
  EventDetail detail;
  EXPECT_EQ(timeline.detail_id(detail), 0u);
  detail.bytes = 4;
  EXPECT_EQ(timeline.detail(timeline.detail_id(detail)).bytes, 4u);
  EXPECT_EQ(timeline.detail_id(detail), 1u);
}

TEST(Timeline, KeepsAThousandNotesOfAThousandBytes) {
  Timeline timeline;
  const std::string tail(5'000, 'x');
  for (int i = 0; i < 3'000; ++i) timeline.note(std::to_string(i) + tail);
  const auto notes = timeline.notes();
  EXPECT_EQ(notes.size(), 1'001u);
  EXPECT_THAT(notes, testing::Each(testing::SizeIs(testing::Le(1'000u))));
  EXPECT_THAT(notes, testing::Contains(testing::HasSubstr("left out (2000 times)")));
}

TEST(Timeline, TextsAloneFillIt) {
  Timeline timeline;
  timeline.limit_bytes(1'000);
  EXPECT_FALSE(timeline.is_full());
  timeline.text_id(std::string(2'000, 'x'));
  EXPECT_TRUE(timeline.is_full());
  EXPECT_EQ(timeline.notes().size(), 1u);
}

TEST(Timeline, TakesAtMost110BytesAnEvent) {
  Timeline timeline;
  constexpr std::size_t count = 10'000;
  for (std::size_t i = 0; i < count; ++i) {
    TraceEvent event;
    event.name = timeline.text_id("kernel " + std::to_string(i % 500));
    event.lane = timeline.lane_id({timeline.text_id("0"), timeline.text_id("7"), true});
    EventDetail detail;
    detail.grid = {static_cast<std::uint32_t>(i % 1000), 1, 1};
    event.detail = timeline.detail_id(detail);
    timeline.add(event);
  }
  EXPECT_LE(timeline.bytes() / count, 110u);
}

TEST(Timeline, NotesWithTheSameWordsAreCounted) {
  Timeline timeline;
  timeline.note("an event is odd");
  timeline.note("an event is odd", 2);
  timeline.note("nothing", 0);
  timeline.note("the file is cut off");
  EXPECT_THAT(timeline.notes(),
              testing::ElementsAre("an event is odd (3 times)", "the file is cut off"));
}

TEST(Timeline, EventsBeyondTheLimitOfBytesAreRefusedAndNamed) {
  Timeline timeline;
  timeline.limit_bytes(10'000);
  std::size_t added = 0;
  for (std::int64_t i = 0; i < 1'000; ++i) {
    TraceEvent event;
    event.name = timeline.text_id("a kernel with the number " + std::to_string(i));
    if (!timeline.add(event, i, i + 1)) break;
    ++added;
  }
  EXPECT_LT(added, 100u) << "a name and an event take above 100 bytes";
  EXPECT_LT(timeline.bytes(), 11'000u);
  EXPECT_THAT(timeline.notes(), testing::ElementsAre(testing::HasSubstr("8 GiB")));
}

}  // namespace
}  // namespace assay
