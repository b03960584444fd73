// Where the data of a collective operation lie in a rank's buffers, before and after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/benchmarks/collective_data.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// Rank 0 is the root of every operation that has one, as in nccl-tests.
constexpr int collective_root = 0;

/// One operation; counts are in elements.
struct CollectiveShape {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  DataType type = DataType::f32;
  bool in_place = false;
  int ranks = 1;
  std::size_t count = 0;  ///< of one block, as CollectiveCall has it
};

/// The count that `size` bytes of the larger buffer allow, as nccl-tests computes it: for
/// operations on blocks a rank's part of them, rounded down to 16 bytes. 0: too few bytes for one
/// element each.
std::size_t block_count(CollectiveOperation operation, DataType type, std::uint64_t size,
                        int ranks);
/// Whether it has an in-place form: all_reduce, all_gather, reduce_scatter, broadcast, reduce.
bool runs_in_place(CollectiveOperation operation);

std::size_t send_elements(const CollectiveShape& shape);
std::size_t receive_elements(const CollectiveShape& shape);
/// Bytes of the larger of the two: the size that nccl-tests prints.
std::uint64_t larger_bytes(const CollectiveShape& shape);
/// In place both buffers lie in one of larger_bytes(): where they begin in it.
std::size_t send_offset(const CollectiveShape& shape, int rank);
std::size_t receive_offset(const CollectiveShape& shape, int rank);

/// A run of elements from `at` in the receive buffer.
struct ExpectedRange {
  std::size_t at = 0;
  DataRange data;
};
/// What must be in a rank's receive buffer afterwards, in order, if every rank's send buffer began
/// with its element 0. Empty where the operation leaves nothing: beside the root of reduce, gather.
std::vector<ExpectedRange> expected_received(const CollectiveShape& shape, int rank);
/// The kind of data that is sent.
DataKind sent_kind(CollectiveOperation operation);

}  // namespace assay
