#include "compute/device/peaks.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

DeviceFacts facts_of(const char* name, int units, const char* arch = "gfx942:sramecc+:xnack-") {
  DeviceFacts facts;
  facts.backend = "hip";
  facts.name = name;
  facts.arch = arch;
  facts.multiprocessors = units;
  return facts;
}

TEST(Peaks, APartitionHasItsShareOfTheModel) {
  EXPECT_DOUBLE_EQ(peak_memory_bandwidth(facts_of("AMD Instinct MI300X VF", 304))->rate, 5300e9);
  EXPECT_DOUBLE_EQ(peak_memory_bandwidth(facts_of("AMD Instinct MI300X", 38))->rate, 5300e9 / 8);
}

TEST(Peaks, TheArchitectureStandsForAModelWithoutAName) {
  EXPECT_DOUBLE_EQ(peak_memory_bandwidth(facts_of("AMD Radeon Graphics", 304))->rate, 5300e9);
}

// Its 80 units would get 80/304 of an MI300X's bandwidth, but it has all of it.
TEST(Peaks, AModelWithoutARowDoesNotGetThoseOfItsArchitecture) {
  DeviceFacts facts = facts_of("AMD Instinct MI308X", 80);
  facts.memory_clock_hz = 1.3e9;
  facts.memory_bus_bits = 8192;
  EXPECT_FALSE(peak_memory_bandwidth(facts));
  EXPECT_FALSE(peak_compute_rate(facts, DataType::bf16));
}

// An RX 7900 XTX has 960 GB/s.
TEST(Peaks, TheMemoryClockOfHipMakesNoRoofBeyondHbm2) {
  DeviceFacts facts = facts_of("AMD Radeon RX 7900 XTX", 48, "gfx1100");
  facts.memory_clock_hz = 1.249e9;
  facts.memory_bus_bits = 384;
  EXPECT_FALSE(peak_memory_bandwidth(facts));
  facts = facts_of("AMD Instinct MI250X", 110, "gfx90a:sramecc+:xnack-");
  facts.memory_clock_hz = 1.6e9;
  facts.memory_bus_bits = 4096;
  EXPECT_DOUBLE_EQ(peak_memory_bandwidth(facts)->rate, 1638.4e9);
}

TEST(Peaks, AnMi300aHasAllTheBandwidthAndNoLinkToItsHost) {
  const DeviceFacts facts = facts_of("AMD Instinct MI300A", 228);
  EXPECT_DOUBLE_EQ(peak_memory_bandwidth(facts)->rate, 5300e9);
  EXPECT_DOUBLE_EQ(peak_compute_rate(facts, DataType::bf16)->rate, 980.6e12);
  EXPECT_FALSE(peak_host_link_bandwidth(facts));
}

}  // namespace
}  // namespace assay
