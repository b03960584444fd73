#include "cli/machine/watch_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/json.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr ChannelKind gauge = ChannelKind::gauge, counter = ChannelKind::counter;
const std::string pci = "0000:3b:00.0";
const std::vector<Channel> channels = {{"gpu0", "clock.xcd0", "Hz", gauge, pci},
                                       {"gpu0", "clock.xcd1", "Hz", gauge, pci},
                                       {"gpu0", "power", "W", gauge, pci},
                                       {"gpu0", "throttle.cycles", "1", counter, pci},
                                       {"gpu0", "throttle.power", "1", counter, pci},
                                       {"gpu0", "xgmi_read", "bytes", counter, pci},
                                       {"cpu", "busy", "s", counter, ""},
                                       {"cpu", "total", "s", counter, ""},
                                       {"cpu", "clock_mean", "Hz", gauge, ""}};

TEST(WatchView, GaugesAtOnceRatesFromTheSecondReading) {
  const Snapshot first{"10:00", 5, {2.1e9, 1.987e9, 612, 1000, 10, 0, 1, 10, 3e9}};
  const Snapshot second{"10:02", 7, {2.1e9, 2.1e9, 98, 2000, 210, 8e9, 2, 14, 3e9}};
  const std::string one = watch_text(channels, first, nullptr, 0, Style(false));
  EXPECT_THAT(one, HasSubstr("1.987-2.100 GHz  612 W"));
  EXPECT_THAT(one, HasSubstr("cpu  3.000 GHz\n"));
  EXPECT_THAT(one, Not(HasSubstr("capped")));
  const std::string two = watch_text(channels, second, &first, 0, Style(false));
  EXPECT_THAT(two, HasSubstr("2.100 GHz   98 W     20%  4.0 GB/s"));
  EXPECT_THAT(two, HasSubstr("cpu  3.000 GHz, busy 25%\n"));
}

TEST(WatchView, FitsTheTerminal) {
  const Snapshot first{"10:00", 5, {2.1e9, 2.1e9, 612, 1000, 10, 0, 1, 10, 3e9}};
  const Snapshot second{"10:02", 7, {2.1e9, 2.1e9, 98, 2000, 210, 8e9, 2, 14, 3e9}};
  constexpr std::size_t width = 24;  // fits what cannot be left out, but not the CPUs' line
  const std::string text = watch_text(channels, second, &first, width, Style(false));
  EXPECT_THAT(text, HasSubstr("2.100 GHz   98 W\n"));
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    EXPECT_LE(end - start, width) << text;
    start = end + 1;
  }
}

TEST(WatchView, ShowsNothingUnknown) {
  const Snapshot blank{"10:00", 5, std::vector<double>(channels.size(), nan)};
  EXPECT_THAT(watch_text(channels, blank, &blank, 0, Style(false)), Not(HasSubstr("nan")));
  EXPECT_TRUE(watch_json(channels, blank)["channels"].empty());
}

TEST(WatchView, JsonHoldsEveryReading) {
  const Snapshot now{"10:00", 5, {2.1e9, 1.987e9, 612, nan, 10, 0, 1, 10, 3e9}};
  const Json json = watch_json(channels, now);
  EXPECT_EQ(json["channels"]["gpu0.power"]["value"], 612);
  EXPECT_EQ(json["channels"]["gpu0.power"]["unit"], "W");
  EXPECT_EQ(json["channels"]["gpu0.power"]["hardware"], pci);
  EXPECT_FALSE(json["channels"]["cpu.busy"].contains("hardware"));
  EXPECT_FALSE(json["channels"].contains("gpu0.throttle.cycles"));
}

}  // namespace
}  // namespace assay::cli
