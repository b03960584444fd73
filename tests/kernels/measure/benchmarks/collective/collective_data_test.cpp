// src/compute/kernels/collective_data.cu in every build: in whatever order contributions are
// reduced, with rounding after every step, the result has the bits that the check expects.
#include "measure/benchmarks/collective/collective_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "advise/selftest/contracts/collective_data_contract.h"
#include "advise/selftest/contracts/reference_reduction.h"
#include "support/holds.h"
#include "support/kernel_test.h"
#include "support/sanitized.h"

namespace assay {
namespace {

constexpr std::size_t part_elements = 1003;

const std::vector<DataType> all_types = {
    DataType::f64,  DataType::f32,       DataType::f16,       DataType::bf16, DataType::e4m3,
    DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz, DataType::i8,   DataType::u8,
    DataType::i32,  DataType::u32,       DataType::i64,       DataType::u64};
const std::vector<Reduction> all_reductions = {Reduction::sum, Reduction::prod, Reduction::min,
                                               Reduction::max, Reduction::avg};

class CollectiveKernels : public KernelTest {
 protected:
  CollectiveData data(DataType type, Reduction reduction, int ranks) {
    auto made = CollectiveData::create(*device_, type, reduction, ranks, 7);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(made).value();
  }
  std::vector<std::byte> written(CollectiveData& data, DataType type, DataRange range) {
    const Buffer bytes = allocate(range.count * size_of(type));
    EXPECT_TRUE(data.fill(*stream_, range, bytes.data()));
    return download<std::byte>(bytes.data(), bytes.bytes());
  }
  template <typename T>
  std::optional<WrongElements> check(CollectiveData& data, DataRange range,
                                     const std::vector<T>& values) {
    const Buffer there = upload(values);
    auto wrong = data.check(*stream_, range, there.data());
    EXPECT_TRUE(wrong) << wrong.error().message;
    return std::move(wrong).value();
  }
};

TEST_P(CollectiveKernels, AnyOrderOfReductionGivesTheExpectedBits) {
  // Large teams run the same code and take minutes: the emulator leaves them out, sanitizers run
  // the largest with one type.
  const bool emulated = GetParam().starts_with("gfx");
  const std::vector<int> teams =
      emulated ? std::vector{1, 2, 3, 9} : std::vector{1, 2, 3, 5, 8, 9, 24, 64};
  for (const DataType type : all_types) {
    for (const Reduction reduction : all_reductions) {
      for (const int ranks : teams) {
        const bool spared = is_sanitized && ranks > 9 && type != DataType::bf16;
        if (spared) continue;
        EXPECT_TRUE(holds(selftest::check_reduced_data(*device_, *stream_, type, reduction, ranks,
                                                       part_elements)));
      }
    }
  }
}

TEST_P(CollectiveKernels, SumsAreWhatExactArithmeticGives) {
  constexpr int ranks = 13;
  CollectiveData made = data(DataType::f32, Reduction::sum, ranks);
  std::vector<double> sums(part_elements);
  std::set<float> values;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto part = written(made, DataType::f32, {DataKind::part, rank, 0, part_elements});
    const auto* x = reinterpret_cast<const float*>(part.data());
    for (std::size_t i = 0; i < part_elements; ++i) {
      sums[i] += x[i];
      values.insert(x[i]);
    }
  }
  EXPECT_GT(values.size(), 5 * part_elements);  // 8 of 13 ranks contribute, nearly all different
  const auto reduced = written(made, DataType::f32, {DataKind::reduced, 0, 0, part_elements});
  const auto* x = reinterpret_cast<const float*>(reduced.data());
  for (std::size_t i = 0; i < part_elements; ++i) ASSERT_EQ(x[i], sums[i]) << i;
}

TEST_P(CollectiveKernels, ARankLeftOutOrCountedTwiceShows) {
  for (const DataType type : all_types) {
    for (const Reduction reduction : {Reduction::sum, Reduction::prod}) {
      CollectiveData made = data(type, reduction, 5);
      with_element(type, [&]<typename T>(T) {
        std::vector<std::vector<std::byte>> parts;
        std::vector<const void*> all;
        for (int rank = 0; rank < 5; ++rank) {
          parts.push_back(written(made, type, {DataKind::part, rank, 0, part_elements}));
        }
        for (const auto& part : parts) all.push_back(part.data());
        for (const bool twice : {false, true}) {
          auto sends = all;
          if (twice) {
            sends.push_back(all[2]);
          } else {
            sends.erase(sends.begin() + 2);
          }
          std::vector<T> reduced(part_elements);
          for (std::size_t i = 0; i < part_elements; ++i) {
            reduced[i] = selftest::reference_reduced<T>(sends, i, reduction);
          }
          const auto wrong = check(made, {DataKind::reduced, 0, 0, part_elements}, reduced);
          ASSERT_TRUE(wrong) << name_of(type);
          EXPECT_EQ(wrong->count, part_elements) << name_of(type) << " " << name_of(reduction);
        }
      });
    }
  }
}

TEST_P(CollectiveKernels, BitsDifferByRankAndIndexAndAWrongOneIsNamed) {
  for (const DataType type : {DataType::u8, DataType::f16, DataType::f32, DataType::u64}) {
    CollectiveData made = data(type, Reduction::sum, 3);
    const DataRange range = {DataKind::bits, 1, 5000, part_elements};
    auto bytes = written(made, type, range);
    EXPECT_FALSE(check(made, range, bytes));
    EXPECT_TRUE(check(made, {DataKind::bits, 2, 5000, part_elements}, bytes));
    EXPECT_TRUE(check(made, {DataKind::bits, 1, 5001, part_elements}, bytes));
    bytes[(part_elements - 1) * size_of(type)] ^= std::byte{1};
    bytes[700 * size_of(type)] ^= std::byte{1};
    const auto wrong = check(made, range, bytes);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->count, 2u);
    EXPECT_EQ(wrong->index, 700u);
    EXPECT_NE(wrong->got, wrong->expected);
  }
}

TEST_P(CollectiveKernels, APartOfAnotherRankIsNotThisOnes) {
  for (const DataType type : all_types) {
    CollectiveData made = data(type, Reduction::sum, 3);
    const DataRange range = {DataKind::part, 1, 40, part_elements};
    auto bytes = written(made, type, range);
    EXPECT_FALSE(check(made, range, bytes)) << name_of(type);
    EXPECT_TRUE(check(made, {DataKind::part, 2, 40, part_elements}, bytes)) << name_of(type);
    bytes[700 * size_of(type)] ^= std::byte{1};
    const auto wrong = check(made, range, bytes);
    ASSERT_TRUE(wrong) << name_of(type);
    EXPECT_EQ(wrong->index, 700u) << name_of(type);
  }
}

TEST_P(CollectiveKernels, NothingIsWrittenBehindTheRange) {
  CollectiveData made = data(DataType::f16, Reduction::max, 3);
  for (const std::size_t count : {0u, 1u, 2u, 255u, 256u, 257u, 1000u}) {
    const Buffer there = upload(std::vector<std::uint16_t>(count + 64, 0xABCD));
    ASSERT_TRUE(made.fill(*stream_, {DataKind::part, 1, 0, count}, there.data()));
    const auto x = download<std::uint16_t>(there.data(), count + 64);
    for (std::size_t i = count; i < x.size(); ++i) ASSERT_EQ(x[i], 0xABCD) << count;
  }
}

ASSAY_KERNEL_BUILDS(CollectiveKernels);

}  // namespace
}  // namespace assay
