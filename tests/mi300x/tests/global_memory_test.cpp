// Scalar, global, flat, scratch and buffer memory: the effects of each instruction, and its faults.
#include <bit>
#include <thread>

#include "tests/hand_made_wave.h"

namespace mi300x {
namespace {

class GlobalMemoryTest : public ::testing::Test {
 protected:
  GlobalMemoryTest() {
    local.begin(4096, 7);
    for (unsigned i = 0; i < words.values.size(); ++i) words[i] = 1000 + i;
  }
  void point(unsigned index, u64 address, u64 pitch) {
    wave.set64(index, [=](unsigned lane) { return address + lane * pitch; });
  }
  void resource(u64 base, u32 stride, u32 records, u32 rest = 0x20000) {
    wave.wave.set_scalar64(8, base | u64{stride} << 48);
    wave.wave.set_scalar32(10, records);
    wave.wave.set_scalar32(11, rest);
  }

  LocalMemory local;
  HandMadeWave wave{&local};
  DeviceArray<u32> words{1024};
  DeviceArray<u32> fresh{1024, false};
};

// ---- Scalar ----

TEST_F(GlobalMemoryTest, ScalarLoads) {
  wave.wave.set_scalar64(2, words.address() + 64);
  wave.wave.set_scalar32(7, 32);
  wave.execute("s_load_dwordx8 s[8:15], s[2:3], 0x20");
  EXPECT_EQ(wave.wave.scalar32(8), 1024u);
  EXPECT_EQ(wave.wave.scalar32(15), 1031u);
  wave.execute("s_load_dword s20, s[2:3], -0x4");
  EXPECT_EQ(wave.wave.scalar32(20), 1015u);
  wave.execute("s_load_dwordx2 s[20:21], s[2:3], s7 offset:0x8");
  EXPECT_EQ(wave.wave.scalar32(20), 1026u);
  wave.execute("s_load_dwordx16 s[32:47], s[2:3], 0x0");
  EXPECT_EQ(wave.wave.scalar32(47), 1031u);
  expect_fault([&] { wave.execute("s_load_dword s20, s[2:3], 0x2"); }, FaultKind::illegal_address,
               "not a multiple of 4");
  expect_fault([&] { wave.execute("s_load_dword s20, s[2:3], 0xfc0"); }, FaultKind::illegal_address,
               "0 bytes past the end of a 4096-byte");
}

TEST_F(GlobalMemoryTest, ScalarBuffersAndStores) {
  resource(words.address(), 0, 10);
  wave.execute("s_buffer_load_dwordx4 s[20:23], s[8:11], 0x4");
  EXPECT_EQ(wave.wave.scalar32(20), 1001u);
  EXPECT_EQ(wave.wave.scalar32(21), 1002u);
  EXPECT_EQ(wave.wave.scalar32(22), 0u);  // out of range
  wave.wave.set_scalar64(2, fresh.address());
  wave.execute("s_store_dwordx2 s[20:21], s[2:3], 0x8");
  EXPECT_EQ(fresh[3], 1002u);
  EXPECT_TRUE(MemoryMap::instance().may_read(fresh.address() + 8, 8));
  EXPECT_FALSE(MemoryMap::instance().may_read(fresh.address() + 16, 1));
}

// ---- Global ----

TEST_F(GlobalMemoryTest, LoadsOfEveryWidthCoalescedAndNot) {
  for (const unsigned count : {1, 2, 3, 4}) {
    const std::string width = count == 1 ? "dword" : "dwordx" + std::to_string(count);
    const std::string target = count == 1 ? "v10" : "v[10:" + std::to_string(9 + count) + "]";
    for (const unsigned pitch : {4 * count, 20u, 0u}) {
      for (const u64 exec : {all_lanes, u64{0xFF00}, u64{0x8001}}) {
        wave.wave.set_exec(exec);
        for (unsigned i = 0; i < count; ++i) wave.set(10 + i, 5);
        point(0, words.address() + 4, pitch);
        wave.execute("global_load_" + width + " " + target + ", v[0:1], off offset:4");
        for (unsigned lane = 0; lane < wave_lanes; ++lane)
          for (unsigned i = 0; i < count; ++i)
            ASSERT_EQ(wave.get(10 + i, lane), exec >> lane & 1 ? 1002 + lane * pitch / 4 + i : 5)
                << width << ' ' << pitch << ' ' << lane;
      }
    }
  }
}

TEST_F(GlobalMemoryTest, ScalarBaseUnalignedAndOverlappingRegisters) {
  wave.wave.set_scalar64(4, words.address() + 16);
  wave.set(0, [](unsigned lane) { return 8 * lane; });
  wave.execute("global_load_dwordx2 v[0:1], v0, s[4:5] offset:-8");
  EXPECT_EQ(wave.get(0, 3), 1008u);
  EXPECT_EQ(wave.get(1, 63), 1129u);
  wave.set(0, [](unsigned lane) { return lane; });
  wave.execute("global_load_dword a1, v0, s[4:5]");
  u32 value;
  std::memcpy(&value, reinterpret_cast<char*>(words.values.data()) + 16 + 3, 4);
  EXPECT_EQ(wave.get(257, 3), value);
}

TEST_F(GlobalMemoryTest, NarrowLoadsAndStores) {
  words[0] = 0x8384F5F6;
  wave.wave.set_exec(1);
  point(0, words.address(), 0);
  for (const auto& [type, value] : {std::pair{"ubyte", 0xF6u},
                                    {"sbyte", 0xFFFFFFF6},
                                    {"ushort", 0xF5F6},
                                    {"sshort", 0xFFFFF5F6},
                                    {"ubyte_d16", 0xF6},
                                    {"sbyte_d16_hi", 0xFFF60000},
                                    {"short_d16_hi", 0xF5F60000}}) {
    wave.execute(std::string("global_load_") + type + " v2, v[0:1], off");
    EXPECT_EQ(wave.get(2, 0), value) << type;
  }
  wave.set(2, 0x11223344);
  wave.execute("global_store_byte v[0:1], v2, off offset:1");
  wave.execute("global_store_short_d16_hi v[0:1], v2, off offset:2");
  EXPECT_EQ(words[0], 0x112244F6u);
}

TEST_F(GlobalMemoryTest, StoresMarkWhatTheyWrite) {
  wave.wave.set_scalar64(4, fresh.address());
  wave.set(0, [](unsigned lane) { return 16 * lane; });
  for (unsigned i = 0; i < 4; ++i) wave.set(4 + i, [=](unsigned lane) { return 4 * lane + i; });
  expect_fault([&] { wave.execute("global_load_dword v2, v0, s[4:5]"); }, FaultKind::uninitialised,
               "lane 0: reads 4 bytes");
  wave.execute("global_store_dwordx3 v0, v[4:6], s[4:5]");
  EXPECT_EQ(fresh[4 * 63 + 2], 254u);
  wave.execute("global_load_dwordx3 v[8:10], v0, s[4:5]");
  expect_fault([&] { wave.execute("global_load_dwordx4 v[8:11], v0, s[4:5]"); },
               FaultKind::uninitialised, "of which byte 12 of a 4096-byte device allocation");
  wave.execute("global_store_dwordx4 v0, v[4:7], s[4:5]");
  wave.execute("global_load_dwordx4 v[8:11], v0, s[4:5]");
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(fresh[i], i);
}

TEST_F(GlobalMemoryTest, OutOfBoundsNamesTheLane) {
  point(0, words.address() + 4096 - 63 * 4, 4);
  expect_fault([&] { wave.execute("global_load_dword v2, v[0:1], off"); },
               FaultKind::illegal_address, "lane 63: reads 4 bytes");
  expect_fault([&] { wave.execute("global_store_dword v[0:1], v2, off"); },
               FaultKind::illegal_address, "lane 63: writes 4 bytes");
  expect_fault([&] { wave.execute("global_atomic_add v[0:1], v2, off offset:4"); },
               FaultKind::illegal_address, "lane 62:");
  wave.wave.set_exec(all_lanes >> 1);
  wave.execute("global_load_dword v2, v[0:1], off");
}

// ---- Atomics ----

TEST_F(GlobalMemoryTest, AtomicsReturnTheOldValueIfAsked) {
  wave.wave.set_exec(1);
  point(0, words.address(), 0);
  const auto run = [&](const std::string& name, u32 before, u32 data, bool returns) {
    words[0] = before;
    wave.set(2, data);
    wave.set(3, 0xDEAD);
    wave.execute(returns ? "global_atomic_" + name + " v3, v[0:1], v2, off sc0"
                         : "global_atomic_" + name + " v[0:1], v2, off");
    EXPECT_EQ(wave.get(3, 0), returns ? before : 0xDEAD) << name;
    return words[0];
  };
  for (const bool returns : {false, true}) {
    EXPECT_EQ(run("add", 5, 7, returns), 12u);
    EXPECT_EQ(run("sub", 5, 7, returns), u32(-2));
    EXPECT_EQ(run("swap", 5, 7, returns), 7u);
    EXPECT_EQ(run("smin", u32(-1), 7, returns), u32(-1));
    EXPECT_EQ(run("umin", u32(-1), 7, returns), 7u);
    EXPECT_EQ(run("smax", u32(-1), 7, returns), 7u);
    EXPECT_EQ(run("umax", u32(-1), 7, returns), u32(-1));
    EXPECT_EQ(run("and", 12, 10, returns), 8u);
    EXPECT_EQ(run("or", 12, 10, returns), 14u);
    EXPECT_EQ(run("xor", 12, 10, returns), 6u);
    EXPECT_EQ(run("inc", 7, 7, returns), 0u);
    EXPECT_EQ(run("dec", 0, 7, returns), 7u);
    EXPECT_EQ(run("add_f32", std::bit_cast<u32>(1.5f), std::bit_cast<u32>(2.0f), returns),
              std::bit_cast<u32>(3.5f));
    EXPECT_EQ(run("pk_add_f16", 0x3C003C00, 0x40003C00, returns), 0x42004000u);
    EXPECT_EQ(run("pk_add_bf16", 0x3F803F80, 0x40003F80, returns), 0x40404000u);
  }
  expect_fault([&] { run("add_f32", 1, 0, false); }, FaultKind::unknown_instruction, "denormal");
  expect_fault([&] { wave.execute("global_atomic_add v[0:1], v2, off offset:2"); },
               FaultKind::illegal_address, "not a multiple of 4");
}

TEST_F(GlobalMemoryTest, WideAtomicsAndCompareAndSwap) {
  wave.wave.set_exec(1);
  point(0, words.address(), 0);
  wave.set(2, 77);
  wave.set(3, 1000);
  wave.execute("global_atomic_cmpswap v4, v[0:1], v[2:3], off sc0");
  EXPECT_EQ(words[0], 77u);  // the new value comes first
  EXPECT_EQ(wave.get(4, 0), 1000u);
  wave.execute("global_atomic_cmpswap v[0:1], v[2:3], off");
  EXPECT_EQ(words[0], 77u);
  const auto wide = [&] { return u64{words[1]} << 32 | words[0]; };
  wave.set64(2, [](unsigned) { return ~u64{0}; });
  words[0] = words[1] = 0;
  wave.execute("global_atomic_add_x2 v[0:1], v[2:3], off");
  EXPECT_EQ(wide(), ~u64{0});
  wave.set64(4, [](unsigned) { return ~u64{0}; });
  wave.set64(2, [](unsigned) { return std::bit_cast<u64>(0.5); });
  wave.execute("global_atomic_cmpswap_x2 v[0:1], v[2:5], off");
  wave.execute("flat_atomic_add_f64 v[6:7], v[0:1], v[2:3] sc0");
  EXPECT_EQ(std::bit_cast<double>(wide()), 1.0);
  EXPECT_EQ(std::bit_cast<double>(wave.get64(6, 0)), 0.5);
  wave.execute("global_atomic_min_f64 v[0:1], v[2:3], off");
  EXPECT_EQ(std::bit_cast<double>(wide()), 0.5);
  expect_fault([&] { wave.execute("global_atomic_add_x2 v[0:1], v[2:3], off offset:4"); },
               FaultKind::illegal_address, "not a multiple of 8");
}

TEST_F(GlobalMemoryTest, AtomicsOfManyThreadsLoseNothing) {
  words[0] = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      HandMadeWave other;
      other.set64(0, [&](unsigned) { return words.address(); });
      other.set(2, 1);
      for (int round = 0; round < 200; ++round) other.execute("global_atomic_add v[0:1], v2, off");
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(words[0], 4u * 200 * 64);
}

// ---- Into LDS ----

TEST_F(GlobalMemoryTest, LoadsIntoLocalMemory) {
  const auto peek = [&](u32 address) {
    u32 value;
    local.read(wave.wave, address, &value, 4);
    return value;
  };
  wave.wave.set_scalar32(scalar::m0, 64);
  point(0, words.address(), 8);
  wave.execute("global_load_lds_dword v[0:1], off offset:4");
  EXPECT_EQ(peek(68), 1001u);
  EXPECT_EQ(peek(68 + 4 * 63), 1127u);
  words[0] = 0xF6;
  wave.execute("global_load_lds_sbyte v[0:1], off");
  EXPECT_EQ(peek(64), 0xFFFFFFF6u);
  resource(words.address(), 0, 4096);
  wave.set(0, [](unsigned lane) { return 4 * lane; });
  wave.wave.set_scalar32(3, 400);
  wave.execute("buffer_load_dword v0, s[8:11], s3 offen offset:4 lds");
  EXPECT_EQ(peek(68 + 4), 1102u);
}

// ---- Flat and scratch ----

TEST_F(GlobalMemoryTest, FlatLanesGoWhereTheyPoint) {
  const u32 shared = 11;
  local.write(wave.wave, 40, &shared, 4);
  wave.wave.set_exec(7);
  wave.set64(0, [&](unsigned lane) {
    return lane == 0   ? words.address() + 4
           : lane == 1 ? shared_aperture + 36
                       : private_aperture + 8;
  });
  wave.set(2, [](unsigned lane) { return 50 + lane; });
  expect_fault([&] { wave.execute("flat_load_dword v3, v[0:1] offset:4"); },
               FaultKind::uninitialised,
               "lane 2: reads 4 bytes at offset 12 of its private memory");
  wave.execute("flat_store_dword v[0:1], v2 offset:4");
  wave.execute("flat_load_dword v3, v[0:1] offset:4");
  for (unsigned lane = 0; lane < 3; ++lane) EXPECT_EQ(wave.get(3, lane), 50 + lane);
  EXPECT_EQ(words[2], 50u);
  u32 value;
  local.read(wave.wave, 40, &value, 4);
  EXPECT_EQ(value, 51u);
  std::memcpy(&value, wave.wave.scratch + 2 * 64 + 12, 4);
  EXPECT_EQ(value, 52u);
  wave.execute("flat_atomic_add v[0:1], v2 offset:4");
  EXPECT_EQ(words[2], 100u);
}

TEST_F(GlobalMemoryTest, ScratchOfEachLane) {
  for (unsigned i = 0; i < 4; ++i) wave.set(4 + i, [=](unsigned lane) { return 10 * lane + i; });
  wave.execute("scratch_store_dwordx4 off, v[4:7], off offset:16");
  wave.set(0, 12);
  wave.wave.set_scalar32(3, 8);
  wave.execute("scratch_load_dwordx2 v[8:9], v0, s3 offset:4");
  EXPECT_EQ(wave.get(8, 63), 632u);
  EXPECT_EQ(wave.get(9, 5), 53u);
  expect_fault([&] { wave.execute("scratch_load_dwordx2 v[8:9], v0, s3 offset:8"); },
               FaultKind::uninitialised, "of which byte 32 was never written");
  expect_fault([&] { wave.execute("scratch_load_dword v8, off, s3 offset:-12"); },
               FaultKind::illegal_address, "at offset -4 of its private memory");
  expect_fault([&] { wave.execute("scratch_store_dword off, v8, off offset:61"); },
               FaultKind::illegal_address, "which has 64 bytes");
}

// ---- Buffers ----

TEST_F(GlobalMemoryTest, RawBuffersReadZeroOutOfRange) {
  resource(words.address(), 0, 4 * 34);
  wave.set(0, [](unsigned lane) { return 4 * lane; });
  wave.wave.set_scalar32(3, 40);
  wave.execute("buffer_load_dwordx4 v[4:7], v0, s[8:11], s3 offen offset:8");
  EXPECT_EQ(wave.get(4, 0), 1012u);
  EXPECT_EQ(wave.get(7, 28), 1043u);
  EXPECT_EQ(wave.get(6, 29), 1043u);
  EXPECT_EQ(wave.get(7, 29), 0u);  // its fourth word lies beyond the end
  EXPECT_EQ(wave.get(4, 32), 0u);
  wave.set(1, 5);
  wave.execute("buffer_store_dword v1, v0, s[8:11], 0 offen");
  EXPECT_EQ(words[33], 5u);
  EXPECT_EQ(words[34], 1034u);
  wave.execute("buffer_load_dword v4, off, s[8:11], 0 offset:132");
  EXPECT_EQ(wave.get(4, 60), 5u);
  wave.set(1, 1);
  wave.execute("buffer_atomic_add v1, v0, s[8:11], 0 offen sc0");
  EXPECT_EQ(words[33], 6u);
  EXPECT_EQ(words[34], 1034u);
  EXPECT_EQ(wave.get(1, 33), 5u);
  EXPECT_EQ(wave.get(1, 34), 0u);
  wave.set(0, 2);
  expect_fault([&] { wave.execute("buffer_load_dword v4, v0, s[8:11], 0 offen"); },
               FaultKind::illegal_address, "not a multiple of 4");
}

TEST_F(GlobalMemoryTest, StructuredBuffersCountRecords) {
  resource(words.address(), 12, 20);
  wave.set(0, [](unsigned lane) { return lane; });
  wave.set(1, 4);
  wave.execute("buffer_load_dword v4, v[0:1], s[8:11], 0 idxen offen");
  EXPECT_EQ(wave.get(4, 19), 1058u);
  EXPECT_EQ(wave.get(4, 20), 0u);
  resource(words.address(), 12 | 0x8000, 20);
  expect_fault([&] { wave.execute("buffer_load_dword v4, v0, s[8:11], 0 idxen"); },
               FaultKind::unknown_instruction, "a buffer resource that is not linear");
}

TEST_F(GlobalMemoryTest, CacheInstructionsChangeNothing) {
  for (const char* text : {"buffer_wbl2 sc0 sc1", "buffer_inv sc1", "s_dcache_inv", "s_dcache_wb"})
    wave.execute(text);
  for (const char* text : {"buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"})
    wave.execute(text, "gfx90a");
}

}  // namespace
}  // namespace mi300x
