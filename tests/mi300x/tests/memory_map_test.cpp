// MemoryMap: which memory may be accessed, which was written, and the messages about the rest.
#include "emulator/memory_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <barrier>
#include <thread>

#include "tests/hand_made_wave.h"

namespace mi300x {
namespace {

MemoryMap& map() {
  return MemoryMap::instance();
}

/// A page-aligned block that the map knows, apart from other host memory.
class Block {
 public:
  explicit Block(std::size_t bytes, bool initialised = false, int device = 0)
      : memory_(static_cast<char*>(std::aligned_alloc(4096, (bytes + 4095) & ~4095))) {
    map().add(memory_, bytes, device, "device allocation", initialised);
  }
  ~Block() {
    release();
    std::free(memory_);
  }
  void release() {
    if (announced_) map().remove(memory_);
    announced_ = false;
  }
  char* data() const { return memory_; }
  std::uint64_t at(std::int64_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory_) + offset;
  }

 private:
  char* memory_;
  bool announced_ = true;
};

TEST(MemoryMap, ByteByByteWhatWasWritten) {
  const Block block(4096);
  expect_fault([&] { map().check_read(block.at(0), 4); }, FaultKind::uninitialised,
               "byte 0 of a 4096-byte device allocation was never written");
  map().check_write(block.at(61), 70);
  map().check_read(block.at(61), 70);
  for (const auto& [offset, bytes, missing] :
       {std::tuple{60, 4, 60}, {128, 4, 131}, {61, 71, 131}, {0, 1024, 0}})
    expect_fault([&] { map().check_read(block.at(offset), bytes); }, FaultKind::uninitialised,
                 "byte " + std::to_string(missing) + " of a");
}

TEST(MemoryMap, HostsMemoryCountsAsWritten) {
  const Block block(100, true);
  map().check_read(block.at(0), 100);
  map().check_read(block.at(99), 1);
}

TEST(MemoryMap, SaysHowFarAwayTheNearestAllocationIs) {
  const Block block(4096, true);
  expect_fault([&] { map().check_read(block.at(4096 + 8), 4); }, FaultKind::illegal_address,
               "8 bytes past the end of a 4096-byte device allocation");
  expect_fault([&] { map().check_write(block.at(-12), 4); }, FaultKind::illegal_address,
               "12 bytes before the beginning of a 4096-byte device allocation");
  expect_fault([&] { map().check_read(block.at(4092), 16); }, FaultKind::illegal_address,
               "of which the last 12 lie past the end of a 4096-byte device allocation");
  expect_fault([&] { map().check_read(0, 4); }, FaultKind::illegal_address, "reads 4 bytes at 0x0");
  expect_fault([&] { map().check_write(~0ull - 2, 4); }, FaultKind::illegal_address, "writes");
}

TEST(MemoryMap, UseAfterFreeIsToldFromAWildAddress) {
  Block block(256, true);
  const std::uint64_t address = block.at(16);
  map().check_read(address, 4);
  block.release();
  expect_fault([&] { map().check_read(address, 4); }, FaultKind::illegal_address,
               "byte 16 of a 256-byte device allocation that was freed");
  expect_fault([&] { map().remove(block.data()); }, FaultKind::illegal_address,
               "no allocation begins at");
}

TEST(MemoryMap, FreedMemoryIsForgottenInTheEndAndUsableAgain) {
  Block block(256, true);
  block.release();
  const Block other(64);
  for (int i = 0; i < 500; ++i) {
    map().add(block.data(), 32, 0, "device allocation", false);
    expect_fault([&] { map().check_read(block.at(0), 4); }, FaultKind::uninitialised, "byte 0");
    map().remove(block.data());
  }
  try {
    map().check_read(block.at(40), 4);
    FAIL() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_THAT(fault.what(), ::testing::Not(::testing::HasSubstr("was freed")));
  }
}

TEST(MemoryMap, OverlapsAreRefused) {
  const Block block(4096);
  for (const auto& [offset, bytes] : {std::pair{0, 1}, {-1, 2}, {4095, 10}, {-10, 8192}})
    expect_fault([&] { map().add(block.data() + offset, bytes, 0, "pinned block", true); },
                 FaultKind::illegal_address, "overlaps the 4096-byte device allocation");
  expect_fault([&] { map().add(block.data() + 4096, 0, 0, "pinned block", true); },
               FaultKind::illegal_address, "of no bytes");
}

TEST(MemoryMap, FindsTheDeviceOfARange) {
  const Block block(4096, false, 3);
  int device = -7;
  EXPECT_TRUE(map().find(block.data() + 4000, 96, &device));
  EXPECT_EQ(device, 3);
  EXPECT_FALSE(map().find(block.data() + 4000, 97, &device));
  EXPECT_FALSE(map().find(&device, sizeof device, &device));
}

TEST(MemoryMap, ACopyTakesTheMarksAlong) {
  for (const int from_offset : {0, 1, 63, 64, 100})
    for (const int to_offset : {0, 5, 63, 128})
      for (const int bytes : {1, 63, 64, 65, 200}) {
        const Block from(512), to(512);
        map().mark_written(to.data(), 512);
        for (int i = 0; i < 512; i += 3) map().mark_written(from.data() + i, 1);
        map().copy_marks(to.data() + to_offset, from.data() + from_offset, bytes);
        for (int i = 0; i < 512; ++i) {
          const int source = i - to_offset + from_offset;
          const bool copied = i >= to_offset && i < to_offset + bytes;
          ASSERT_EQ(map().may_read(to.at(i), 1), !copied || source % 3 == 0)
              << from_offset << ' ' << to_offset << ' ' << bytes << ' ' << i;
        }
      }
}

TEST(MemoryMap, ACopyFromTheHostCountsAsWritten) {
  const Block to(256);
  const Block pinned(256, true);
  const char host[64] = {};
  map().copy_marks(to.data() + 7, host, 64);
  EXPECT_TRUE(map().may_read(to.at(7), 64));
  EXPECT_FALSE(map().may_read(to.at(6), 1));
  map().copy_marks(to.data() + 100, pinned.data(), 100);
  EXPECT_TRUE(map().may_read(to.at(100), 100));
}

TEST(MemoryMap, AnAllocationThatIsHardlyTouchedCostsNothing) {
  const std::size_t bytes = std::size_t{64} << 30;
  void* memory =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  map().add(memory, bytes, 0, "device allocation", false);
  map().check_write(address + bytes - 4, 4);
  EXPECT_TRUE(map().may_read(address + bytes - 4, 4));
  EXPECT_FALSE(map().may_read(address + bytes - 5, 4));
  map().remove(memory);
  munmap(memory, bytes);
}

// Neighbouring bytes share words of marks, of which none may be lost. Meanwhile another thread
// allocates and frees memory, and tells a checking thread, which must find the memory and later
// find it gone.
TEST(MemoryMap, ThreadsMarkAndCheckWhileTheMapChanges) {
  const Block block(1 << 16);
  std::atomic<bool> ended = false;
  std::atomic<int> wrong = 0;
  std::atomic<std::uint64_t> announced = 0;  // address to check; odd: must be refused
  std::thread changer([&] {
    const Block arena(1 << 16);
    char* outside = static_cast<char*>(std::malloc(1 << 16));
    for (int i = 0; i < 3000; ++i) {
      char* memory = outside + 16 * (i % 1000);
      map().add(memory, 16, 0, "device allocation", true);
      announced = reinterpret_cast<std::uint64_t>(memory);
      while (announced != 0) std::this_thread::yield();
      map().remove(memory);
      announced = reinterpret_cast<std::uint64_t>(memory) + 1;
      while (announced != 0) std::this_thread::yield();
    }
    ended = true;
    std::free(outside);
  });
  std::barrier together(3);
  std::vector<std::thread> markers;
  for (int thread = 0; thread < 3; ++thread)
    markers.emplace_back([&, thread] {
      for (int begin = 0; begin < 1 << 16; begin += 1024) {
        together.arrive_and_wait();  // makes the threads access the same word together
        for (int i = begin + thread; i < begin + 1024; i += 3) {
          map().check_write(block.at(i), 1);
          if (!map().may_read(block.at(i), 1)) ++wrong;
        }
      }
    });
  while (!ended) {
    const std::uint64_t address = announced;
    if (address == 0) {
      std::this_thread::yield();
      continue;
    }
    if (map().may_read(address & ~1ull, 16) == (address & 1)) ++wrong;
    announced = 0;
  }
  changer.join();
  for (std::thread& marker : markers) marker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(map().may_read(block.at(0), 1 << 16));
}

}  // namespace
}  // namespace mi300x
