// A chip that computes wrongly on demand: each kind of fault changes what it should, and only that.
#include "emulator/corruption.h"

#include <gmock/gmock.h>

#include <algorithm>

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
  void run() {
    launch(Module::load(compile(copy_through_lds, "gfx942"), "gfx942"), "mirrored", {{1}, {64}, 0},
           usual, to_.data(), from_.data());
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

TEST_F(CorruptionTest, AStaleLoadReturnsWhatWasThereBeforeTheLastLaunch) {
  Corruption& corruption = Corruption::instance();
  corruption.plan({.kind = CorruptionKind::stale, .rate = 1});
  const auto at = reinterpret_cast<std::uintptr_t>(from_.data());
  corruption.begin_launch({{{at, std::vector<char>(256, 0)}}});
  corruption.begin_launch({});
  run();
  EXPECT_THAT(to_.values(), Each(0u));
  EXPECT_THAT(from_.values(), Each(5u));
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
