// The amdgpu sensor table, every version, from made-up bytes; offsets computed from the kernel's
// structures, attribute numbers from its enum.
#include "machine/system/gpu_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

/// A table of `size` bytes, every field "not supported".
std::string blank(std::size_t size, char content) {
  std::string bytes(size, '\xff');
  bytes[0] = static_cast<char>(size & 0xff);
  bytes[1] = static_cast<char>(size >> 8);
  bytes[2] = 1;
  bytes[3] = content;
  return bytes;
}

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

/// Attributes of version 1.9 one after the other.
class Attributes {
 public:
  template <typename T>
  Attributes& add(unsigned unit, unsigned type, unsigned id, std::vector<T> values) {
    const std::uint64_t code = std::uint64_t{unit} << 24 | type << 20 | id << 10 | values.size();
    text_.append(reinterpret_cast<const char*>(&code), sizeof(code));
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    ++count_;
    return *this;
  }
  std::string table() const {
    std::string bytes = blank(8 + text_.size(), 9);
    put(bytes, 4, count_);
    return bytes.replace(8, text_.size(), text_);
  }

 private:
  std::string text_;
  std::int32_t count_ = 0;
};
constexpr unsigned u16 = 2, u32 = 4, u64 = 6;

TEST(GpuMetrics, Mi300xVersion14) {
  std::string bytes = blank(288, 4);
  put<std::uint16_t>(bytes, 4, 61);
  put<std::uint16_t>(bytes, 6, 55);
  put<std::uint16_t>(bytes, 10, 612);
  put<std::uint16_t>(bytes, 12, 97);
  put<std::uint64_t>(bytes, 24, 65536u * 100u);
  put<std::uint16_t>(bytes, 48, 16);
  put<std::uint16_t>(bytes, 50, 320);
  put<std::uint64_t>(bytes, 88, 7);
  put<std::uint64_t>(bytes, 104, 3);
  put<std::uint64_t>(bytes, 112, 2);
  put<std::uint64_t>(bytes, 168, 1);
  put<std::uint16_t>(bytes, 240, 2100);
  put<std::uint16_t>(bytes, 242, 1987);
  put<std::uint16_t>(bytes, 244, 0);  // an XCD that is fused off or asleep
  put<std::uint16_t>(bytes, 280, 1300);
  const GpuMetrics metrics = parse_gpu_metrics(bytes);
  EXPECT_EQ(metrics.problem, "");
  EXPECT_EQ(metrics.content, 4);
  EXPECT_EQ(metrics.temperature_celsius, 61);
  EXPECT_EQ(metrics.memory_temperature_celsius, 55);
  EXPECT_EQ(metrics.power_watts, 612);
  EXPECT_EQ(metrics.engine_activity, 0.97);
  EXPECT_FALSE(metrics.memory_activity);
  EXPECT_EQ(metrics.energy_joules, 100);
  EXPECT_EQ(metrics.pcie_width, 16u);
  EXPECT_EQ(metrics.pcie_speed_gts, 32);
  EXPECT_EQ(metrics.pcie_replays, 7u);
  EXPECT_EQ(metrics.xgmi_read_bytes, 5 * 1024);
  EXPECT_EQ(metrics.xgmi_written_bytes, 1024);
  EXPECT_THAT(metrics.engine_clocks_hz, ElementsAre(2100e6, 1987e6));
  EXPECT_EQ(metrics.memory_clock_hz, 1300e6);
  EXPECT_FALSE(metrics.throttle.cycles);
  EXPECT_FALSE(metrics.throttle_reasons);
}

TEST(GpuMetrics, ASleepingXcdKeepsItsPlace) {
  std::string bytes = blank(288, 4);
  put<std::uint16_t>(bytes, 240, 2100);
  put<std::uint16_t>(bytes, 242, 0);
  put<std::uint16_t>(bytes, 246, 1900);  // the XCD before it has no reading
  put<std::uint16_t>(bytes, 248, 0);
  const GpuMetrics metrics = parse_gpu_metrics(bytes);
  EXPECT_THAT(metrics.engine_clocks_hz, ElementsAre(2100e6, 1900e6));
  EXPECT_THAT(metrics.xcd_clocks_hz, ElementsAre(2100e6, IsNan(), IsNan(), 1900e6, IsNan()));
}

TEST(GpuMetrics, EachVersionHasItsOwnPlaceForThrottleResidencies) {
  struct Version {
    char content;
    std::size_t size, cycles, power;
  };
  for (const Version& version :
       {Version{6, 1664, 32, 40}, Version{7, 2208, 40, 48}, Version{8, 3872, 40, 48}}) {
    std::string bytes = blank(version.size, version.content);
    put<std::uint32_t>(bytes, version.cycles, 54536484);
    put<std::uint32_t>(bytes, version.power, 633093);
    const GpuMetrics metrics = parse_gpu_metrics(bytes);
    EXPECT_EQ(metrics.throttle.cycles, 54536484u) << int(version.content);
    EXPECT_EQ(metrics.throttle.power, 633093u);
    EXPECT_FALSE(metrics.throttle.prochot);
    EXPECT_FALSE(metrics.throttle.memory_thermal);
    EXPECT_FALSE(metrics.energy_joules);
  }
}

TEST(GpuMetrics, Version13HasOneClockAndNoUnitOfEnergy) {
  std::string bytes = blank(120, 3);
  put<std::uint16_t>(bytes, 6, 40);
  put<std::uint16_t>(bytes, 22, 90);
  put<std::uint64_t>(bytes, 24, 123456);
  put<std::uint16_t>(bytes, 54, 1700);
  put<std::uint16_t>(bytes, 56, 1200);  // the SoC's clock, not a second XCD's
  put<std::uint32_t>(bytes, 68, 3);     // the same reasons, in bits that differ between chips
  put<std::uint64_t>(bytes, 112, std::uint64_t{1} << 36 | 1);
  const GpuMetrics metrics = parse_gpu_metrics(bytes);
  EXPECT_THAT(metrics.engine_clocks_hz, ElementsAre(1700e6));
  EXPECT_EQ(metrics.throttle_reasons, std::uint64_t{1} << 36 | 1);
  EXPECT_EQ(metrics.power_watts, 90);
  EXPECT_EQ(metrics.temperature_celsius, 40);
  EXPECT_FALSE(metrics.energy_joules);
}

TEST(GpuMetrics, Version19IsParsedWhateverItsTypes) {
  const std::string table = Attributes()
                                .add<std::uint16_t>(2, u16, 0, {42})
                                .add<std::uint16_t>(3, u16, 3, {194})
                                .add<std::uint64_t>(0, u64, 7, {65536})
                                .add<std::uint64_t>(0, u64, 9, {54536484})
                                .add<std::uint32_t>(0, u32, 11, {633093})
                                .add<std::uint16_t>(7, u16, 17, {320})
                                .add<std::uint64_t>(9, u64, 29, {1, 2, ~std::uint64_t{0}})
                                .add<std::uint16_t>(1, u16, 33, {2098, 2115, 0xffff, 2100})
                                .add<std::uint32_t>(0, u32, 999, {1, 2, 3})  // unknown to assay
                                .add<std::uint16_t>(1, u16, 37, {1300})
                                .table();
  const GpuMetrics metrics = parse_gpu_metrics(table);
  EXPECT_EQ(metrics.problem, "");
  EXPECT_EQ(metrics.temperature_celsius, 42);
  EXPECT_EQ(metrics.power_watts, 194);
  EXPECT_EQ(metrics.energy_joules, 1);
  EXPECT_EQ(metrics.throttle.cycles, 54536484u);
  EXPECT_EQ(metrics.throttle.power, 633093u);
  EXPECT_EQ(metrics.pcie_speed_gts, 32);
  EXPECT_EQ(metrics.xgmi_read_bytes, 3 * 1024);
  EXPECT_THAT(metrics.engine_clocks_hz, ElementsAre(2098e6, 2115e6, 2100e6));
  EXPECT_EQ(metrics.memory_clock_hz, 1300e6);
}

TEST(GpuMetrics, NothingIsTrusted) {
  EXPECT_THAT(parse_gpu_metrics("").problem, HasSubstr("cut short: 0"));
  EXPECT_THAT(parse_gpu_metrics("ab").problem, HasSubstr("cut short"));
  EXPECT_THAT(parse_gpu_metrics(blank(288, 4).substr(0, 200)).problem,
              HasSubstr("cut short: 200 of 288"));
  EXPECT_THAT(parse_gpu_metrics(blank(288, 77)).problem, HasSubstr("1.77 is not a version"));
  std::string other = blank(288, 4);
  other[2] = 2;  // of an APU
  EXPECT_THAT(parse_gpu_metrics(other).problem, HasSubstr("2.4 is not a version"));
  // A table that is shorter than its version's: fields beyond its end are absent.
  EXPECT_EQ(parse_gpu_metrics(blank(100, 4)).problem, "");
  EXPECT_TRUE(parse_gpu_metrics(blank(100, 4)).engine_clocks_hz.empty());
}

TEST(GpuMetrics, DamagedAttributesGiveNothingAndSayWhere) {
  const std::string good =
      Attributes().add<std::uint16_t>(3, u16, 3, {194}).add<std::uint16_t>(2, u16, 0, {42}).table();
  ASSERT_EQ(parse_gpu_metrics(good).power_watts, 194);
  std::string too_many = good;
  put<std::int32_t>(too_many, 4, 3);
  EXPECT_THAT(parse_gpu_metrics(too_many).problem, HasSubstr("is invalid at byte 28 of 28"));
  EXPECT_FALSE(parse_gpu_metrics(too_many).power_watts);
  std::string type = good;
  type[8 + 2] = '\xf0';  // type 15
  EXPECT_THAT(parse_gpu_metrics(type).problem, HasSubstr("is invalid at byte 8"));
  std::string values = good;
  put<std::uint16_t>(values, 18, 0x3ff);  // 1023 values in two bytes
  EXPECT_THAT(parse_gpu_metrics(values).problem, HasSubstr("is invalid at byte 18"));
  // Whatever the bytes are, reading ends and stays inside them; sanitizer builds check the latter.
  for (std::size_t size = 0; size < good.size(); ++size) {
    std::string cut = good.substr(0, size);
    if (size >= 2) put<std::uint16_t>(cut, 0, static_cast<std::uint16_t>(size));
    parse_gpu_metrics(cut);
  }
}

}  // namespace
}  // namespace assay
