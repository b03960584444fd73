// A chip that computes wrongly on demand: each kind of fault changes what it should, and only that.
#include "emulator/corruption.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "kernel_test.h"

namespace mi300x {
namespace {

using ::testing::Each;
using u32 = std::uint32_t;

constexpr const char* copy_through_lds = R"(
extern "C" __global__ void mirrored(unsigned* to, const unsigned* from) {
  __shared__ unsigned words[64];
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  words[i] = from[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  to[i] = words[63 - i];
})";

/// Each load gets its value in the register that held its address.
constexpr const char* load_over_address = R"hip(
extern "C" __global__ void loaded(unsigned* to, const unsigned* from) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  unsigned word = 4 * i;
  asm volatile("global_load_dword %0, %0, %1\n s_waitcnt vmcnt(0)" : "+v"(word) : "s"(from));
  to[i] = word;
})hip";

class CorruptionTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_COMPILER(); }
  void TearDown() override { Corruption::instance().plan({}); }

  /// Words that differ from 5 after one run whose chip has this fault.
  int wrong_words(const CorruptionPlan& plan) {
    Corruption::instance().plan(plan);
    Corruption::instance().begin_launch({});
    run();
    const auto values = to_.values();
    return static_cast<int>(std::ranges::count_if(values, [](u32 x) { return x != 5; }));
  }
  void run(const char* source = copy_through_lds, const char* kernel = "mirrored") {
    launch(Module::load(compile(source, "gfx942"), "gfx942"), kernel, {{1}, {64}, 0}, usual,
           to_.data(), from_.data());
  }

  Buffer<u32> to_{64, 1}, from_{64, 5};
};

TEST_F(CorruptionTest, AKindIsNamed) {
  EXPECT_EQ(corruption_kind("mfma"), CorruptionKind::mfma);
  EXPECT_EQ(corruption_kind("hipMalloc"), CorruptionKind::none);
}

TEST_F(CorruptionTest, ALostStoreLeavesWhatWasThere) {
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::store, .rate = 1}), 64);
  EXPECT_THAT(to_.values(), Each(1u));
  EXPECT_EQ(Corruption::instance().count(), 1u);
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::store, .rate = 0}), 0);
}

TEST_F(CorruptionTest, ABitOfMemoryThatFlipsStaysWrong) {
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::hbm, .nth = 1}), 1);
  const auto values = from_.values();
  EXPECT_EQ(std::ranges::count(values, 5u), 63);
}

TEST_F(CorruptionTest, ABitOfLdsThatFlipsChangesOneWord) {
  const int wrong = wrong_words({.kind = CorruptionKind::lds, .nth = 1, .seed = 3});
  EXPECT_LE(wrong, 1);
  EXPECT_THAT(from_.values(), Each(5u));
  EXPECT_EQ(Corruption::instance().count(), 1u);
}

class StaleLoad : public CorruptionTest {
 protected:
  /// Begins a launch while the words that it loads hold these values.
  void begin_launch(std::vector<u32> values) {
    const auto* const bytes = reinterpret_cast<const char*>(values.data());
    Corruption::instance().begin_launch({{reinterpret_cast<std::uintptr_t>(from_.data()),
                                          {bytes, bytes + values.size() * sizeof(u32)}}});
  }
  std::vector<u32> fives_ = std::vector<u32>(64, 5), zeros_ = std::vector<u32>(64, 0);
};

TEST_F(StaleLoad, ReturnsWhatWasThereBeforeTheLastLaunch) {
  Corruption::instance().plan({.kind = CorruptionKind::stale, .rate = 1});
  begin_launch(zeros_);
  begin_launch(fives_);
  run();
  EXPECT_THAT(to_.values(), Each(0u));
  EXPECT_THAT(from_.values(), Each(5u));
  EXPECT_EQ(Corruption::instance().count(), 1u);
}

TEST_F(StaleLoad, ReturnsWhatWasThereBeforeTheLastWriteOfEachLine) {
  Corruption::instance().plan({.kind = CorruptionKind::stale, .rate = 1});
  std::vector<u32> first_half = zeros_;
  std::fill_n(first_half.begin(), 32, 7);
  begin_launch(zeros_);
  begin_launch(first_half);  // the first line is written
  begin_launch(fives_);      // both are
  begin_launch(fives_);      // none is
  run();
  std::vector<u32> expected(64, 7);  // mirrored
  std::fill_n(expected.begin(), 32, 0);
  EXPECT_EQ(to_.values(), expected);
}

TEST_F(StaleLoad, IsNoEventWhereNothingWasWritten) {
  Corruption::instance().plan({.kind = CorruptionKind::stale, .nth = 1});
  begin_launch(fives_);
  begin_launch(fives_);
  run();
  EXPECT_EQ(Corruption::instance().events(), 0u);
  EXPECT_EQ(Corruption::instance().count(), 0u);
  EXPECT_THAT(to_.values(), Each(5u));
}

TEST_F(StaleLoad, ChangesNothingIfAnotherEventIsChosen) {
  Corruption::instance().plan({.kind = CorruptionKind::stale, .nth = 2});
  begin_launch(zeros_);
  begin_launch(fives_);
  run();
  EXPECT_EQ(Corruption::instance().events(), 1u);
  EXPECT_THAT(to_.values(), Each(5u));
}

TEST_F(StaleLoad, MayOverwriteItsAddress) {
  Corruption::instance().plan({.kind = CorruptionKind::stale, .nth = 1});
  std::vector<u32> counted(64);
  std::iota(counted.begin(), counted.end(), 100);
  begin_launch(counted);
  begin_launch(fives_);
  run(load_over_address, "loaded");
  EXPECT_EQ(to_.values(), counted);
}

TEST_F(CorruptionTest, OneEventIsChosenByItsNumber) {
  const Corruption& corruption = Corruption::instance();
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::hbm}), 0);
  EXPECT_EQ(corruption.events(), 1u);  // one wave loads once
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::hbm, .nth = 2}), 0);
  EXPECT_EQ(corruption.count(), 0u);
}

TEST_F(CorruptionTest, KernelsCanBeSpared) {
  EXPECT_EQ(wrong_words({.kind = CorruptionKind::store, .rate = 1, .spared = "mirr"}), 0);
}

}  // namespace
}  // namespace mi300x
