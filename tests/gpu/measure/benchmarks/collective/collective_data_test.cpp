// src/compute/kernels/collective_data.cu on a real accelerator: contributions that the accelerator
// computes and the host reduces have the bits that the accelerator's check expects.
#include "measure/benchmarks/collective/collective_data.h"

#include <gtest/gtest.h>

#include "compute/device/helpers.h"
#include "support/test_device.h"
#include "support/thread_communicator.h"

namespace assay {
namespace {

constexpr std::size_t elements = 100003;

class CollectiveOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
    stream_ = std::move(device_->create_stream()).value();
  }

  /// The elements of `range` as the device writes them, copied to the host.
  std::vector<std::byte> written(CollectiveData& data, const Buffer& buffer, DataRange range,
                                 std::size_t bytes) {
    EXPECT_TRUE(data.fill(*stream_, range, buffer.data()));
    auto read = read_back<std::byte>(*stream_, buffer.data(), bytes);
    EXPECT_TRUE(read);
    return std::move(read).value();
  }

  void check_reduction(DataType type, Reduction reduction, int ranks) {
    auto made = CollectiveData::create(*device_, type, reduction, ranks, 11);
    ASSERT_TRUE(made) << made.error().message;
    const std::size_t bytes = elements * size_of(type);
    const Buffer buffer = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    std::vector<std::vector<std::byte>> parts;
    std::vector<const void*> sends;
    for (int rank = 0; rank < ranks; ++rank) {
      parts.push_back(written(*made, buffer, {DataKind::part, rank, 5, elements}, bytes));
    }
    for (const auto& part : parts) sends.push_back(part.data());
    std::vector<std::byte> reduced(bytes);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      for (std::size_t i = 0; i < elements; ++i) {
        const T value = reference_reduced<T>(sends, i, reduction);
        std::memcpy(reduced.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
    const DataRange range = {DataKind::reduced, 0, 5, elements};
    const auto check = [&] {
      EXPECT_TRUE(stream_->copy(buffer.data(), reduced.data(), bytes));
      auto wrong = made->check(*stream_, range, buffer.data());
      EXPECT_TRUE(wrong) << wrong.error().message;
      return std::move(wrong).value();
    };
    const auto none = check();
    EXPECT_FALSE(none) << name_of(type) << " " << name_of(reduction) << ": " << none->index
                       << " is " << none->got << ", expected " << none->expected;
    reduced[70001 * size_of(type)] ^= std::byte{1};
    reduced[90001 * size_of(type)] ^= std::byte{1};
    const auto wrong = check();
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->count, 2u);
    EXPECT_EQ(wrong->index, 70001u);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(CollectiveOnGpu, EveryTypeAndReductionMeansTheSameThere) {
  for (const DataType type :
       {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::e4m3, DataType::e5m2,
        DataType::e4m3_fnuz, DataType::e5m2_fnuz, DataType::i8, DataType::u8, DataType::i32,
        DataType::u32, DataType::i64, DataType::u64}) {
    for (const Reduction reduction :
         {Reduction::sum, Reduction::prod, Reduction::min, Reduction::max, Reduction::avg}) {
      check_reduction(type, reduction, 3);
      check_reduction(type, reduction, 24);
    }
  }
}

TEST_F(CollectiveOnGpu, BitsAreThoseOfTheCpu) {
  const auto cpu = open_test_device("cpu");
  auto cpu_stream = std::move(cpu->create_stream()).value();
  for (const DataType type : {DataType::u8, DataType::f16, DataType::f32, DataType::u64}) {
    auto here = CollectiveData::create(*cpu, type, Reduction::sum, 3, 11);
    auto there = CollectiveData::create(*device_, type, Reduction::sum, 3, 11);
    ASSERT_TRUE(here);
    ASSERT_TRUE(there) << there.error().message;
    const std::size_t bytes = elements * size_of(type);
    const Buffer buffer = std::move(device_->allocate(bytes, MemoryKind::device)).value();
    const DataRange range = {DataKind::bits, 2, 77, elements};
    const auto data = written(*there, buffer, range, bytes);
    auto wrong = here->check(*cpu_stream, range, data.data());
    ASSERT_TRUE(wrong);
    EXPECT_FALSE(*wrong) << name_of(type);
  }
}

}  // namespace
}  // namespace assay
