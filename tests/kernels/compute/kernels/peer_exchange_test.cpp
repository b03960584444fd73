// Sums over ranks in each other's memory, of which the test is the other ranks: what they would
// have written lies there already.
#include <gtest/gtest.h>

#include <array>

#include "support/model_test.h"

namespace assay {
namespace {

constexpr int ranks = 3;
constexpr std::size_t slots_at = 4096, slot_bytes = 32768;  // of a window

class PeerExchange : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    program_ = device_->build({"peer_exchange", {}}).value();
    for (int rank = 0; rank < ranks; ++rank) {
      windows_.push_back(upload(std::vector<std::uint8_t>(slots_at + 2 * ranks * slot_bytes)));
    }
    std::vector<std::uint64_t> addresses;
    for (const Buffer& window : windows_) {
      addresses.push_back(reinterpret_cast<std::uintptr_t>(window.data()));
    }
    table_ = upload(addresses);
    // What is not there is not waited for: it makes a wrong sum.
    stop_ = upload(std::vector<std::uint32_t>{1});
  }

  Kernel& kernel(std::string_view name, DataType type) {
    return *program_->kernel(std::string(name) + "_" + std::string(name_of(type))).value();
  }
  std::byte* at(int window, std::size_t offset) const {
    return windows_[static_cast<std::size_t>(window)].as<std::byte>() + offset;
  }
  /// The words of a slot for `words` of data, each with the number of its sum: of 32 packs of 8
  /// elements, the first two words of each come first, then the next two.
  static std::vector<std::uint64_t> slot_of(const std::vector<std::uint32_t>& words,
                                            std::uint32_t number, DataType type) {
    const std::size_t of_pack = 8 * size_of(type) / 4, packs = words.size() / of_pack;
    std::vector<std::uint64_t> slot((packs + 31) / 32 * 32 * of_pack, 0);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::size_t pack = i / of_pack, pair = i % of_pack / 2;
      const std::size_t place = pack / 32 * 32 * of_pack + pair * 64 + pack % 32 * 2 + i % 2;
      slot[place] = std::uint64_t{number} << 32 | words[i];
    }
    return slot;
  }
  /// The elements as they lie in memory.
  std::vector<std::uint32_t> words_of(const Values& of) {
    return download<std::uint32_t>(of.buffer.data(), of.buffer.bytes() / 4);
  }
  std::vector<double> sums_of(const std::array<Values, ranks>& all) {
    std::vector<double> sums(all.front().host.size());
    for (const Values& of : all) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of.host[i];
    }
    return sums;
  }

  std::unique_ptr<Program> program_;
  std::vector<Buffer> windows_;
  Buffer table_, stop_;
};

/// The flags of the others say that they have come; this rank's are in their windows afterwards.
TEST_P(PeerExchange, RanksMeet) {
  const Buffer meetings = upload(std::vector<std::uint32_t>{6});
  write(at(1, 0), std::vector<std::uint32_t>{7, 0, 8});  // rank 2 is already one further
  ASSERT_TRUE(launch(*stream_, *program_->kernel("peer_meeting").value(), {{1}, {32}},
                     static_cast<const void*>(table_.data()), meetings.data(), stop_.data(),
                     std::uint32_t{1}, std::uint32_t{ranks}));
  ASSERT_TRUE(stream_->synchronize());
  const auto flags = [&](int window) { return download<std::uint32_t>(at(window, 0), ranks); };
  EXPECT_EQ(flags(0), (std::vector<std::uint32_t>{0, 7, 0}));
  EXPECT_EQ(flags(2), (std::vector<std::uint32_t>{0, 7, 0}));
  EXPECT_EQ(download<std::uint32_t>(meetings.data(), 1), std::vector<std::uint32_t>{7});
}

TEST_P(PeerExchange, SmallSumsAreOneKernel) {
  constexpr std::size_t count = 1040;  // and three of them are no whole pack
  constexpr std::uint32_t number = 5;
  const std::size_t set = number % 2 * ranks;
  for (const DataType type : types) {
    const std::array<Values, ranks> all = {normal(type, count, 1), normal(type, count, 2),
                                           normal(type, count, 3)};
    const Values out = unknown(type, count);
    for (const int other : {0, 2}) {
      write(at(1, slots_at + (set + static_cast<std::size_t>(other)) * slot_bytes),
            slot_of(words_of(all[static_cast<std::size_t>(other)]), number, type));
    }
    const Buffer sums = upload(std::vector<std::uint32_t>{number - 1, 0});
    const std::uint64_t summed = count - 5;
    ASSERT_TRUE(launch(*stream_, kernel("peer_all_reduce", type), {{3}, {64}}, out.buffer.data(),
                       static_cast<const void*>(all[1].buffer.data()), summed,
                       std::uint64_t{slots_at}, std::uint64_t{slot_bytes}, sums.data(),
                       static_cast<const void*>(table_.data()), stop_.data(), std::uint32_t{1},
                       std::uint32_t{ranks}));
    ASSERT_TRUE(stream_->synchronize());
    std::vector<float> found = read(out, type);
    for (std::size_t i = summed; i < count; ++i) EXPECT_TRUE(std::isnan(found[i])) << i;
    found.resize(summed);
    std::vector<double> expected = sums_of(all);
    expected.resize(summed);
    expect_near(found, expected, type, "a small sum");
    EXPECT_EQ(download<std::uint32_t>(sums.data(), 2), (std::vector<std::uint32_t>{number, 0}));
    // What this rank sends to the others: whole packs as they are.
    std::vector<std::uint32_t> whole = words_of(all[1]);
    whole.resize(summed / 8 * 8 * size_of(type) / 4);
    const std::vector<std::uint64_t> mine = slot_of(whole, number, type);
    for (const int other : {0, 2}) {
      const auto sent =
          download<std::uint64_t>(at(other, slots_at + (set + 1) * slot_bytes), mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) {
        if (mine[i] == 0) continue;  // belongs to no whole pack
        ASSERT_EQ(sent[i], mine[i]) << i << " " << name_of(type);
      }
    }
  }
}

TEST_P(PeerExchange, BlocksOfOthersAreAdded) {
  constexpr std::size_t count = 1037;
  for (const DataType type : types) {
    const std::array<Values, ranks> all = {normal(type, count, 1), normal(type, count, 2),
                                           normal(type, count, 3)};
    const Values out = unknown(type, count);
    for (const int other : {0, 1}) {
      const Buffer& from = all[static_cast<std::size_t>(other)].buffer;
      write(at(2, slots_at + static_cast<std::size_t>(other) * slot_bytes),
            download<std::uint8_t>(from.data(), count * size_of(type)));
    }
    ASSERT_TRUE(launch(*stream_, kernel("peer_sum", type), {{2}, {64}}, out.buffer.data(),
                       static_cast<const void*>(all[2].buffer.data()),
                       static_cast<const void*>(at(2, slots_at)), std::uint64_t{slot_bytes},
                       std::uint64_t{count}, std::uint32_t{2}, std::uint32_t{ranks}));
    ASSERT_TRUE(stream_->synchronize());
    expect_near(read(out, type), sums_of(all), type, "a sum of blocks");
  }
}

ASSAY_KERNEL_BUILDS(PeerExchange);

}  // namespace
}  // namespace assay
