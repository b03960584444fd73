#include "compute/autotune/choice_cache.h"

#include <gtest/gtest.h>

#include "compute/autotune/choice_journal.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

DeviceFacts a_gpu() {
  DeviceFacts facts;
  facts.backend = "hip";
  facts.name = "AMD Instinct MI300X";
  facts.arch = "gfx942";
  facts.uuid = "1f2e";
  facts.multiprocessors = 304;
  return facts;
}

const ChoiceKey memory_triad = {"memory geometry", "sha of the source", "triad f32 1024"};

TEST(ChoiceCache, KeepsTheLatest) {
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path() / "made when needed");
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), std::nullopt);
  cache.keep(a_gpu(), memory_triad, "block=256");
  cache.keep(a_gpu(), memory_triad, "block=512 unroll=4");
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), "block=512 unroll=4");
  EXPECT_EQ(ChoiceCache(folder.path() / "made when needed").find(a_gpu(), memory_triad),
            "block=512 unroll=4");
}

TEST(ChoiceCache, AJournalAnswersFirstAndNotesWhatWasChosen) {
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path()), none("");
  const ChoiceKey other = {"gemm", "library 1", "8x8x8"};
  cache.keep(a_gpu(), memory_triad, "block=256");
  std::vector<KeptChoice> made;
  {
    ChoiceJournal journal({});
    EXPECT_EQ(cache.find(a_gpu(), memory_triad), "block=256");
    EXPECT_EQ(none.find(a_gpu(), other), std::nullopt);
    none.keep(a_gpu(), other, "7");
    none.keep(a_gpu(), other, "8");
    made = journal.made();
  }
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].choice, "block=256");
  EXPECT_EQ(made[1].about, "gemm, library 1 for 8x8x8");
  EXPECT_EQ(made[1].choice, "8");
  made[0].choice = "block=512";
  {
    const ChoiceJournal journal(made);
    EXPECT_EQ(cache.find(a_gpu(), memory_triad), "block=512");
    EXPECT_EQ(none.find(a_gpu(), other), "8");
    EXPECT_EQ(journal.made(), made);
    cache.note(a_gpu(), memory_triad, "block=64");  // as there was no memory for a trial
    EXPECT_EQ(journal.made()[0].choice, "block=64");
  }
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), "block=256");
}

TEST(ChoiceCache, EverythingThatMayChangeTheBestIsPartOfTheKey) {
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path());
  cache.keep(a_gpu(), memory_triad, "best");
  const auto differs = [&](auto change) {
    DeviceFacts facts = a_gpu();
    ChoiceKey key = memory_triad;
    change(facts, key);
    return cache.find(facts, key) == std::nullopt;
  };
  EXPECT_FALSE(differs([](DeviceFacts&, ChoiceKey&) {}));
  EXPECT_TRUE(differs([](DeviceFacts& f, ChoiceKey&) { f.arch = "gfx90a"; }));
  EXPECT_TRUE(differs([](DeviceFacts& f, ChoiceKey&) { f.uuid = "other"; }));
  EXPECT_TRUE(differs([](DeviceFacts& f, ChoiceKey&) { f.partition = "CPX/NPS4"; }));
  EXPECT_TRUE(differs([](DeviceFacts& f, ChoiceKey&) { f.multiprocessors = 38; }));
  EXPECT_TRUE(differs([](DeviceFacts&, ChoiceKey& k) { k.what = "gemm"; }));
  EXPECT_TRUE(differs([](DeviceFacts&, ChoiceKey& k) { k.implementation = "rewritten"; }));
  EXPECT_TRUE(differs([](DeviceFacts&, ChoiceKey& k) { k.problem = "triad f32 2048"; }));
}

TEST(ChoiceCache, ADamagedFileCountsAsEmpty) {
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path());
  folder.write("choices", std::string("\0\xff garbage\n\n \n", 13));
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), std::nullopt);
  cache.keep(a_gpu(), memory_triad, "best");
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), "best");
}

TEST(ChoiceCache, StoresNothingIfItCannotOrMustNot) {
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path());
  cache.keep(a_gpu(), memory_triad, "two\nlines");
  EXPECT_EQ(cache.find(a_gpu(), memory_triad), std::nullopt);
  const ChoiceCache nowhere("");
  nowhere.keep(a_gpu(), memory_triad, "best");
  EXPECT_EQ(nowhere.find(a_gpu(), memory_triad), std::nullopt);
  DeviceFacts emulated = a_gpu();
  emulated.emulated = true;
  ChoiceCache::of_user(emulated).keep(emulated, memory_triad, "best");
  EXPECT_EQ(ChoiceCache::of_user(emulated).find(emulated, memory_triad), std::nullopt);
}

}  // namespace
}  // namespace assay
