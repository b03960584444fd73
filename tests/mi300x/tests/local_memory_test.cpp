// LDS: the effects of each DS instruction, and its faults.
#include "emulator/local_memory.h"

#include <bit>
#include <cmath>

#include "tests/hand_made_wave.h"

namespace mi300x {
namespace {

class LocalMemoryTest : public ::testing::Test {
 protected:
  LocalMemoryTest() { local.begin(4096, 7); }
  void poke(u32 address, u32 value) { local.write(one.wave, address, &value, 4); }
  u32 peek(u32 address) {
    u32 value;
    local.read(one.wave, address, &value, 4);
    return value;
  }

  LocalMemory local;
  HandMadeWave one{&local, 0}, two{&local, 1}, three{&local, 2};
};

// ---- Checks ----

TEST_F(LocalMemoryTest, BeginsAsGarbageThatNobodyMayRead) {
  expect_fault([&] { peek(8); }, FaultKind::uninitialised, "the byte at 0x8 was never written");
  poke(8, 5);
  EXPECT_EQ(peek(8), 5u);
  expect_fault([&] { peek(9); }, FaultKind::uninitialised, "the byte at 0xc was never written");
  expect_fault([&] { local.atomic(one.wave, 12, 4); }, FaultKind::uninitialised, "0xc");
  local.begin(4096, 7);
  expect_fault([&] { peek(8); }, FaultKind::uninitialised, "never written");
}

TEST_F(LocalMemoryTest, EndsWhereTheLaunchSaysNotAtItsGranule) {
  local.begin(100, 7);
  poke(96, 1);
  expect_fault([&] { poke(97, 1); }, FaultKind::illegal_address,
               "writes 4 bytes at LDS address 0x61; the workgroup has 100 bytes");
  expect_fault([&] { peek(0xFFFFFFFE); }, FaultKind::illegal_address, "reads 4 bytes");
  expect_fault([&] { local.begin(65537, 7); }, FaultKind::invalid_launch, "65537 bytes of LDS");
}

TEST_F(LocalMemoryTest, RacesOfAllKindsNameBothWaves) {
  const u32 value = 1;
  u32 read;
  poke(0, 1);
  expect_fault([&] { local.read(two.wave, 0, &read, 4); }, FaultKind::race,
               "wave 1 reads 4 bytes at LDS address 0x0, of which wave 0 wrote the byte at 0x0");
  expect_fault([&] { local.write(two.wave, 2, &value, 4); }, FaultKind::race,
               "of which wave 0 wrote the byte at 0x2");
  local.barrier();
  local.read(two.wave, 0, &read, 4);
  local.read(three.wave, 0, &read, 4);
  expect_fault([&] { poke(0, 1); }, FaultKind::race,
               "wave 0 writes 4 bytes at LDS address 0x0, of which waves 1, 2 read");
  local.barrier();
  poke(0, 2);
  EXPECT_EQ(peek(0), 2u);
}

TEST_F(LocalMemoryTest, NeighbouringBytesOfDifferentWavesDoNotRace) {
  const u8 value = 1;
  local.write(one.wave, 0, &value, 1);
  local.write(two.wave, 1, &value, 1);
  local.write(three.wave, 2, &value, 1);
  EXPECT_NO_THROW(local.barrier());
}

TEST_F(LocalMemoryTest, AtomicsOfDifferentWavesMeetButNotPlainAccesses) {
  poke(0, 0);
  expect_fault([&] { local.atomic(two.wave, 0, 4); }, FaultKind::race, "of which wave 0 wrote");
  local.barrier();
  local.atomic(one.wave, 0, 4);
  local.atomic(two.wave, 0, 4);
  expect_fault([&] { peek(0); }, FaultKind::race,
               "wave 0 reads 4 bytes at LDS address 0x0, of which wave 1");
  expect_fault([&] { poke(0, 0); }, FaultKind::race, "wave 0 writes");
  local.barrier();
  peek(0);
  expect_fault([&] { local.atomic(two.wave, 0, 4); }, FaultKind::race, "of which wave 0 read");
  local.barrier();
  local.atomic(one.wave, 0, 4);
  poke(0, 3);  // the wave's own byte, but now by a plain write
  expect_fault([&] { local.atomic(two.wave, 0, 4); }, FaultKind::race, "of which wave 0 wrote");
  expect_fault([&] { local.atomic(one.wave, 2, 4); }, FaultKind::illegal_address,
               "which is not a multiple of 4");
}

// ---- Reads and writes ----

TEST_F(LocalMemoryTest, WideValuesGoAndComeBack) {
  for (const auto& [bits, words] : {std::pair{"b32", 1}, {"b64", 2}, {"b96", 3}, {"b128", 4}}) {
    const std::string data = words == 1 ? "v4" : "v[4:" + std::to_string(3 + words) + "]";
    const std::string target = words == 1 ? "v8" : "v[8:" + std::to_string(7 + words) + "]";
    for (const unsigned pitch : {unsigned(4 * words), 20u, 17u}) {  // consecutive, apart, unaligned
      local.begin(4096, 7);
      one.set(0, [=](unsigned lane) { return lane * pitch; });
      for (int word = 0; word < words; ++word)
        one.set(4 + word, [=](unsigned lane) { return 1000 * (word + 1) + lane; });
      one.execute(std::string("ds_write_") + bits + " v0, " + data + " offset:16");
      one.execute(std::string("ds_read_") + bits + " " + target + ", v0 offset:16");
      for (unsigned lane = 0; lane < wave_lanes; ++lane)
        for (int word = 0; word < words && pitch >= 4u * words; ++word)
          ASSERT_EQ(one.get(8 + word, lane), 1000u * (word + 1) + lane) << bits << pitch;
    }
  }
}

TEST_F(LocalMemoryTest, InactiveLanesNeitherReadNorWrite) {
  one.set(0, [](unsigned lane) { return 4 * lane; });
  one.set(1, 7);
  one.wave.set_exec(0x0FF0);
  one.execute("ds_write_b32 v0, v1");
  one.set(2, 99);
  one.execute("ds_read_b32 v2, v0");
  EXPECT_EQ(one.get(2, 3), 99u);
  EXPECT_EQ(one.get(2, 4), 7u);
  EXPECT_EQ(one.get(2, 12), 99u);
  one.wave.set_exec(0x1FF0);
  expect_fault([&] { one.execute("ds_read_b32 v2, v0"); }, FaultKind::uninitialised, "reads");
  one.wave.set_exec(0);
  one.execute("ds_read_b32 v2, v0");
}

TEST_F(LocalMemoryTest, NarrowValuesAreExtended) {
  one.set(0, 0);
  one.set(1, 0x8384F5F6);
  one.wave.set_exec(1);
  one.execute("ds_write_b32 v0, v1");
  const std::pair<const char*, u32> reads[] = {
      {"u8", 0xF6},        {"i8", 0xFFFFFFF6},        {"u16", 0xF5F6},    {"i16", 0xFFFFF5F6},
      {"u8_d16", 0xF6},    {"u8_d16_hi", 0xF60000},   {"i8_d16", 0xFFF6}, {"i8_d16_hi", 0xFFF60000},
      {"u16_d16", 0xF5F6}, {"u16_d16_hi", 0xF5F60000}};
  for (const auto& [type, value] : reads) {
    one.execute(std::string("ds_read_") + type + " v2, v0");
    EXPECT_EQ(one.get(2, 0), value) << type;
  }
  one.execute("ds_write_b8 v0, v1 offset:4");
  one.execute("ds_write_b8_d16_hi v0, v1 offset:5");
  one.execute("ds_write_b16_d16_hi v0, v1 offset:6");
  EXPECT_EQ(peek(4), 0x838484F6u);
  one.execute("ds_write_b16 v0, v1 offset:4");
  EXPECT_EQ(peek(4), 0x8384F5F6u);
}

TEST_F(LocalMemoryTest, TwoValuesAtOnce) {
  one.set(0, [](unsigned lane) { return 8 * lane; });
  one.set(1, [](unsigned lane) { return lane; });
  one.set(2, [](unsigned lane) { return 100 + lane; });
  one.execute("ds_write2_b32 v0, v1, v2 offset1:1");
  one.execute("ds_read_b64 v[4:5], v0");
  EXPECT_EQ(one.get64(4, 9), (u64{109} << 32 | 9));
  one.wave.set_exec(1);
  one.execute("ds_write2st64_b32 v0, v1, v2 offset0:4 offset1:5");
  EXPECT_EQ(peek(1280), 100u);
  one.set64(8, [](unsigned) { return 0x1122334455667788; });
  one.execute("ds_write2st64_b64 v0, v[4:5], v[8:9] offset0:3 offset1:4");
  EXPECT_EQ(peek(4 * 512), 0x55667788u);
  one.execute("ds_read2st64_b64 v[0:3], v0 offset0:4 offset1:3");
  EXPECT_EQ(one.get64(0, 0), 0x1122334455667788u);
  EXPECT_EQ(one.get64(2, 0), one.get64(4, 0));
}

TEST_F(LocalMemoryTest, AddressesByLaneAndM0) {
  one.wave.set_scalar32(scalar::m0, 0xABCD0040);
  one.set(1, [](unsigned lane) { return 3 * lane; });
  one.execute("ds_write_addtid_b32 v1 offset:8");
  EXPECT_EQ(peek(0x48 + 4 * 5), 15u);
  one.execute("ds_read_addtid_b32 v2 offset:8");
  EXPECT_EQ(one.get(2, 63), 189u);
}

// ---- Atomics ----

TEST_F(LocalMemoryTest, IntegerAtomics) {
  struct Case {
    const char* name;
    u32 before, data, after;
  };
  const Case cases[] = {
      {"add_u32", 5, 7, 12},      {"sub_u32", 5, 7, u32(-2)}, {"rsub_u32", 5, 7, 2},
      {"inc_u32", 5, 7, 6},       {"inc_u32", 7, 7, 0},       {"dec_u32", 5, 7, 4},
      {"dec_u32", 0, 7, 7},       {"dec_u32", 8, 7, 7},       {"min_i32", u32(-1), 7, u32(-1)},
      {"min_u32", u32(-1), 7, 7}, {"max_i32", u32(-1), 7, 7}, {"max_u32", u32(-1), 7, u32(-1)},
      {"and_b32", 12, 10, 8},     {"or_b32", 12, 10, 14},     {"xor_b32", 12, 10, 6}};
  one.wave.set_exec(1);
  one.set(0, 16);
  for (const Case& c : cases) {
    const std::string name = c.name, verb = name.substr(0, name.find('_')),
                      type = name.substr(name.find('_') + 1);
    for (const bool returns : {false, true}) {
      poke(16, c.before);
      one.set(1, c.data);
      one.set(2, 0xDEAD);
      one.execute(returns ? "ds_" + verb + "_rtn_" + type + " v2, v0, v1"
                          : "ds_" + name + " v0, v1");
      EXPECT_EQ(peek(16), c.after) << name;
      EXPECT_EQ(one.get(2, 0), returns ? c.before : 0xDEAD) << name;
    }
  }
}

TEST_F(LocalMemoryTest, AtomicsWithTwoValues) {
  one.wave.set_exec(1);
  one.set(0, 16);
  one.set(1, 5);
  one.set(2, 9);
  poke(16, 5);
  one.execute("ds_cmpst_rtn_b32 v3, v0, v1, v2");
  EXPECT_EQ(peek(16), 9u);  // the value to compare comes first
  one.execute("ds_cmpst_b32 v0, v1, v2");
  one.execute("ds_wrxchg_rtn_b32 v3, v0, v1");
  EXPECT_EQ(one.get(3, 0), 9u);
  EXPECT_EQ(peek(16), 5u);
  one.execute("ds_mskor_b32 v0, v1, v2");
  EXPECT_EQ(peek(16), 9u);
  one.execute("ds_wrap_rtn_b32 v3, v0, v1, v2");
  EXPECT_EQ(peek(16), 4u);
  one.execute("ds_wrap_rtn_b32 v3, v0, v1, v2");
  EXPECT_EQ(peek(16), 13u);
  poke(20, 77);
  one.execute("ds_wrxchg2_rtn_b32 v[4:5], v0, v1, v2 offset1:1");
  EXPECT_EQ(one.get(4, 0), 13u);
  EXPECT_EQ(one.get(5, 0), 77u);
  EXPECT_EQ(peek(20), 9u);
}

TEST_F(LocalMemoryTest, LanesThatMeetAddUp) {
  poke(0, 0);
  one.set(0, 0);
  one.set(1, [](unsigned lane) { return lane; });
  one.execute("ds_add_rtn_u32 v2, v0, v1");
  EXPECT_EQ(peek(0), 2016u);
  EXPECT_EQ(one.get(2, 4), 6u);
}

TEST_F(LocalMemoryTest, FloatAtomics) {
  const auto run = [&](const std::string& text, float before, float data) {
    poke(0, std::bit_cast<u32>(before));
    one.wave.set_exec(1);
    one.set(0, 0);
    one.set(1, std::bit_cast<u32>(data));
    one.execute(text + " v0, v1");
    return std::bit_cast<float>(peek(0));
  };
  const float nan = NAN, infinity = INFINITY;
  EXPECT_EQ(run("ds_add_f32", 1.5f, 2.25f), 3.75f);
  EXPECT_TRUE(std::isnan(run("ds_add_f32", infinity, -infinity)));
  EXPECT_EQ(run("ds_min_f32", 1.5f, nan), 1.5f);
  EXPECT_EQ(run("ds_max_f32", nan, 2.0f), 2.0f);
  EXPECT_TRUE(std::signbit(run("ds_min_f32", 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(run("ds_max_f32", -0.0f, 0.0f)));
  EXPECT_EQ(run("ds_add_f32", 1e-40f, 0.0f), 1e-40f);
  one.wave.mode &= ~0x30u;
  EXPECT_EQ(run("ds_add_f32", 1e-40f, 0.0f), 0.0f);
  one.wave.mode |= 0x10;
  expect_fault([&] { run("ds_add_f32", 1.0f, 1.0f); }, FaultKind::unknown_instruction, "MODE");
  // 1 + 2^-11 is halfway and rounds to even; 65504 + 16 overflows.
  const float packed =
      run("ds_pk_add_f16", std::bit_cast<float>(0x7BFF3C00u), std::bit_cast<float>(0x4C001000u));
  EXPECT_EQ(std::bit_cast<u32>(packed), 0x7C003C00u);
  const float brain =
      run("ds_pk_add_bf16", std::bit_cast<float>(0x3F804000u), std::bit_cast<float>(0x40003F80u));
  EXPECT_EQ(std::bit_cast<u32>(brain), 0x40404040u);
}

TEST_F(LocalMemoryTest, DoublesAreAdded) {
  const u64 before = std::bit_cast<u64>(1.25);
  local.write(one.wave, 8, &before, 8);
  one.wave.set_exec(3);
  one.set(0, 8);
  one.set64(2, [](unsigned) { return std::bit_cast<u64>(0.5); });
  one.execute("ds_add_rtn_f64 v[4:5], v0, v[2:3]");
  EXPECT_EQ(std::bit_cast<double>(one.get64(4, 1)), 1.75);
  one.execute("ds_max_f64 v0, v[2:3]");
  u64 after;
  local.read(one.wave, 8, &after, 8);
  EXPECT_EQ(std::bit_cast<double>(after), 2.25);
}

TEST_F(LocalMemoryTest, AppendCountsActiveLanes) {
  poke(0x44, 10);
  one.wave.set_scalar32(scalar::m0, 0x40);
  one.wave.set_exec(0xF0F);
  one.execute("ds_append v1 offset:4");
  EXPECT_EQ(one.get(1, 8), 10u);
  EXPECT_EQ(peek(0x44), 18u);
  one.execute("ds_consume v1 offset:4");
  EXPECT_EQ(one.get(1, 0), 18u);
  EXPECT_EQ(peek(0x44), 10u);
}

// ---- Exchanges of lanes ----

TEST_F(LocalMemoryTest, Permutes) {
  one.set(1, [](unsigned lane) { return 100 + lane; });
  one.set(0, [](unsigned lane) { return 4 * (lane + 3); });  // wraps around
  one.wave.set_exec(all_lanes & ~(u64{1} << 20));
  one.set(2, 7);
  one.execute("ds_bpermute_b32 v2, v0, v1");
  EXPECT_EQ(one.get(2, 0), 103u);
  EXPECT_EQ(one.get(2, 62), 101u);
  EXPECT_EQ(one.get(2, 17), 0u);  // from the inactive lane
  EXPECT_EQ(one.get(2, 20), 7u);
  one.execute("ds_permute_b32 v2, v0, v1");
  EXPECT_EQ(one.get(2, 3), 100u);
  EXPECT_EQ(one.get(2, 1), 162u);
  EXPECT_EQ(one.get(2, 23), 0u);
  one.set(0, 8);
  one.execute("ds_permute_b32 v2, v0, v1");
  EXPECT_EQ(one.get(2, 2), 163u);  // the highest lane wins
  one.execute("ds_bpermute_b32 v2, v0, v1 offset:4");
  EXPECT_EQ(one.get(2, 50), 103u);
}

TEST_F(LocalMemoryTest, Swizzles) {
  one.set(1, [](unsigned lane) { return lane + 1; });
  const auto swizzled = [&](const std::string& pattern) {
    one.execute("ds_swizzle_b32 v2, v1 offset:" + pattern);
    std::vector<u32> lanes;
    for (unsigned i = 0; i < wave_lanes; ++i) lanes.push_back(one.get(2, i));
    return lanes;
  };
  const auto begins = [](const std::vector<u32>& lanes, const std::vector<u32>& first) {
    return std::equal(first.begin(), first.end(), lanes.begin());
  };
  EXPECT_TRUE(begins(swizzled("swizzle(QUAD_PERM,1,0,3,2)"), {2, 1, 4, 3, 6, 5}));
  EXPECT_TRUE(begins(swizzled("swizzle(SWAP,16)"), {17, 18, 19}));
  EXPECT_EQ(swizzled("swizzle(SWAP,16)")[32], 49u);
  EXPECT_TRUE(begins(swizzled("swizzle(REVERSE,8)"), {8, 7, 6, 5, 4, 3, 2, 1, 16}));
  EXPECT_TRUE(begins(swizzled("swizzle(BROADCAST,4,2)"), {3, 3, 3, 3, 7}));
  // These are the rows in the ISA's description of the two further modes.
  EXPECT_TRUE(begins(swizzled("0xe000"), {1, 0x11, 9, 0x19, 5, 0x15, 0xd, 0x1d, 3, 0x13}));
  EXPECT_TRUE(begins(swizzled("0xe010"), {1, 9, 5, 0xd, 3, 0xb, 7, 0xf, 2, 0xa}));
  EXPECT_TRUE(begins(swizzled("0xe01f"), {1, 2, 3, 4}));
  EXPECT_TRUE(begins(swizzled("0xc020"), {2, 3, 4, 5}));
  EXPECT_EQ(swizzled("0xc020")[31], 1u);
  EXPECT_TRUE(begins(swizzled("0xc420"), {0x20, 1, 2, 3}));
}

}  // namespace
}  // namespace mi300x
