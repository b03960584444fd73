#include "cli/machine/watch_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/test_record.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<Channel> metric_channels = {
    {"gpu0", "power", "W", ChannelKind::gauge, "0000:c1:00.0"},
    {"gpu0", "clock.xcd1", "Hz", ChannelKind::gauge, ""},
    {"gpu0", "utilisation", "1", ChannelKind::gauge, ""},
    {"gpu0", "energy", "J", ChannelKind::counter, ""},
    {"gpu1", "power", "W", ChannelKind::gauge, ""},
    {"gpu1", "pcie_speed", "GT/s", ChannelKind::gauge, ""},
    {"cgroup", "throttled_periods", "1", ChannelKind::counter, ""},
};
const Snapshot metric_snapshot = {
    "2026-01-31T12:00:00.123Z",
    0,
    {700, 2.1e9, 0.5, 12, std::numeric_limits<double>::quiet_NaN(), 32, 3}};

TEST(WatchMetrics, FamiliesAreNamedByQuantityAndUnit) {
  EXPECT_EQ(watch_metrics(metric_channels, metric_snapshot, {}, MetricsFormat::open_metrics),
            "# HELP assay_clock_hertz clock of a device, as assay watch shows it.\n"
            "# TYPE assay_clock_hertz gauge\n"
            "# UNIT assay_clock_hertz hertz\n"
            "assay_clock_hertz{device=\"gpu0\",part=\"xcd1\"} 2100000000\n"
            "# HELP assay_energy_joules energy of a device, as assay watch shows it.\n"
            "# TYPE assay_energy_joules counter\n"
            "# UNIT assay_energy_joules joules\n"
            "assay_energy_joules_total{device=\"gpu0\"} 12\n"
            "# HELP assay_pcie_speed_transfers_per_second pcie_speed of a device, as assay watch "
            "shows it.\n"
            "# TYPE assay_pcie_speed_transfers_per_second gauge\n"
            "# UNIT assay_pcie_speed_transfers_per_second transfers_per_second\n"
            "assay_pcie_speed_transfers_per_second{device=\"gpu1\"} 32000000000\n"
            "# HELP assay_power_watts power of a device, as assay watch shows it.\n"
            "# TYPE assay_power_watts gauge\n"
            "# UNIT assay_power_watts watts\n"
            "assay_power_watts{device=\"gpu0\",pci=\"0000:c1:00.0\"} 700\n"
            "# HELP assay_throttled_periods throttled_periods of a device, as assay watch shows "
            "it.\n"
            "# TYPE assay_throttled_periods counter\n"
            "assay_throttled_periods_total{device=\"cgroup\"} 3\n"
            "# HELP assay_utilisation_ratio utilisation of a device, as assay watch shows it.\n"
            "# TYPE assay_utilisation_ratio gauge\n"
            "assay_utilisation_ratio{device=\"gpu0\"} 0.5\n"
            "# EOF\n");
}

TEST(WatchMetrics, TextFormatDeclaresCountersByTheNameOfTheirSamples) {
  const std::string text = watch_metrics(metric_channels, metric_snapshot, {}, MetricsFormat::text);
  EXPECT_THAT(text, HasSubstr("# TYPE assay_energy_joules_total counter\n"
                              "assay_energy_joules_total{device=\"gpu0\"} 12\n"));
  EXPECT_THAT(text, Not(HasSubstr("# EOF")));
  EXPECT_THAT(text, Not(HasSubstr("# UNIT")));
}

TEST(WatchMetrics, NewestPassedResultOfEachCell) {
  std::vector<Record> results = {passed_record("1MiB"), passed_record("1MiB", 2e-3),
                                 passed_record("1MiB", 4e-3)};
  results[0].time = "2026-01-01T00:00:00Z";
  results[1].time = "2026-01-02T00:00:00Z";
  results[2].time = "2026-01-03T00:00:00Z";
  results[2].status = RecordStatus::failed;
  results[1].metrics = {{.name = "ttft", .value = 9, .unit = "s", .is_void = true},
                        {.name = "loss", .value = 0.5, .unit = "1"}};
  const std::string text = watch_metrics({}, {}, results, MetricsFormat::text);
  const std::string cell = "cell=\"" + results[1].cell.id() + "\"";
  EXPECT_THAT(text, HasSubstr("assay_result_bandwidth_bytes_per_second{" + cell));
  EXPECT_THAT(text, HasSubstr("statistic=\"median\"} 1500000000000\n"));
  EXPECT_THAT(text, HasSubstr("statistic=\"low95\"} 1485000000000\n"));
  EXPECT_THAT(text, HasSubstr("statistic=\"high95\"} 1515000000000\n"));
  EXPECT_THAT(text, HasSubstr("assay_result_loss{" + cell));
  EXPECT_THAT(text, Not(HasSubstr("ttft")));
  EXPECT_THAT(text, Not(HasSubstr("3000000000000")));
}

TEST(WatchMetrics, TextOfOthersCannotBreakAPage) {
  Record record = passed_record("1MiB");
  record.cell = Cell("memory", {{"op", "a\"b\\c\nd"}});
  record.metrics = {{.name = "Mean TTFT (ms)", .value = 1, .unit = "a b\n#"}};
  const std::string text = watch_metrics({}, {}, std::vector{record}, MetricsFormat::open_metrics);
  EXPECT_THAT(text, HasSubstr("op=a\\\"b\\\\c"));
  EXPECT_THAT(text, HasSubstr("\n# UNIT assay_result_mean_ttft_ms_a_b a_b\n"));
  EXPECT_THAT(text, Not(HasSubstr("\nd")));
}

}  // namespace
}  // namespace assay::cli
