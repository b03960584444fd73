#include "measure/benchmarks/collective/collective_layout.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Operation = CollectiveOperation;

TEST(CollectiveLayout, BlocksAreMultiplesOf16BytesAndWholeVectorsAreNot) {
  EXPECT_EQ(block_count(Operation::all_reduce, DataType::f32, 4, 8), 1u);
  EXPECT_EQ(block_count(Operation::all_reduce, DataType::f32, 4003, 8), 1000u);
  EXPECT_EQ(block_count(Operation::broadcast, DataType::f64, 4, 8), 0u);
  // nccl-tests: (count / ranks) & ~(16 / element size - 1).
  EXPECT_EQ(block_count(Operation::all_gather, DataType::f32, 64, 8), 0u);
  EXPECT_EQ(block_count(Operation::all_gather, DataType::f32, 128, 8), 4u);
  EXPECT_EQ(block_count(Operation::reduce_scatter, DataType::f32, 4000, 3), 332u);
  EXPECT_EQ(block_count(Operation::all_to_all, DataType::f64, 4000, 3), 166u);
  EXPECT_EQ(block_count(Operation::gather, DataType::u8, 4000, 3), 1328u);
  EXPECT_EQ(block_count(Operation::scatter, DataType::f16, std::uint64_t{16} << 30, 8),
            std::size_t{1} << 30);
}

TEST(CollectiveLayout, TheLargerBufferIsTheSizeOfACell) {
  const auto shape = [](Operation operation) {
    return CollectiveShape{operation, DataType::f16, false, 3, 40};
  };
  EXPECT_EQ(larger_bytes(shape(Operation::all_reduce)), 80u);
  EXPECT_EQ(larger_bytes(shape(Operation::all_gather)), 240u);
  for (int op = 0; op <= static_cast<int>(Operation::send_recv); ++op) {
    const CollectiveShape one = shape(static_cast<Operation>(op));
    EXPECT_EQ(larger_bytes(one), 2 * std::max(send_elements(one), receive_elements(one)))
        << name_of(one.operation);
  }
  EXPECT_EQ(send_elements(shape(Operation::all_gather)), 40u);
  EXPECT_EQ(receive_elements(shape(Operation::all_gather)), 120u);
  EXPECT_EQ(send_elements(shape(Operation::scatter)), 120u);
  EXPECT_EQ(receive_elements(shape(Operation::scatter)), 40u);
}

TEST(CollectiveLayout, InPlaceTheSmallerBufferIsABlockOfTheLarger) {
  CollectiveShape shape{Operation::all_gather, DataType::f32, true, 3, 40};
  EXPECT_EQ(send_offset(shape, 2), 80u);
  EXPECT_EQ(receive_offset(shape, 2), 0u);
  shape.operation = Operation::reduce_scatter;
  EXPECT_EQ(send_offset(shape, 2), 0u);
  EXPECT_EQ(receive_offset(shape, 2), 80u);
  shape.operation = Operation::all_reduce;
  EXPECT_EQ(send_offset(shape, 2), 0u);
  EXPECT_EQ(receive_offset(shape, 2), 0u);
}

TEST(CollectiveLayout, EveryReceivedBlockHasTheOriginOfItsOperation) {
  const auto received = [](Operation operation, int rank) {
    return expected_received({operation, DataType::f32, false, 3, 40}, rank);
  };
  const auto all_to_all = received(Operation::all_to_all, 2);
  ASSERT_EQ(all_to_all.size(), 3u);
  EXPECT_EQ(all_to_all[1].at, 40u);
  EXPECT_EQ(all_to_all[1].data.rank, 1);
  EXPECT_EQ(all_to_all[1].data.first, 80u);  // the block that rank 1 has for rank 2
  EXPECT_EQ(received(Operation::all_gather, 2)[1].data.first, 0u);
  EXPECT_EQ(received(Operation::send_recv, 0)[0].data.rank, 2);
  EXPECT_EQ(received(Operation::scatter, 2)[0].data.first, 80u);
  EXPECT_EQ(received(Operation::reduce_scatter, 2)[0].data.first, 80u);
  EXPECT_EQ(received(Operation::reduce, 0).size(), 1u);
  EXPECT_TRUE(received(Operation::reduce, 1).empty());
  EXPECT_TRUE(received(Operation::gather, 1).empty());
  EXPECT_EQ(received(Operation::gather, 0).size(), 3u);
}

TEST(CollectiveLayout, AmbiguousAveragesAreKnown) {
  EXPECT_FALSE(inexact_reduction(DataType::e4m3, Reduction::avg, 64));
  EXPECT_TRUE(inexact_reduction(DataType::e4m3, Reduction::avg, 65));
  EXPECT_FALSE(inexact_reduction(DataType::e4m3, Reduction::sum, 65));
  EXPECT_TRUE(inexact_reduction(DataType::i8, Reduction::avg, 128));
  EXPECT_FALSE(inexact_reduction(DataType::f32, Reduction::avg, 100000));
}

}  // namespace
}  // namespace assay
