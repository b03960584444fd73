// Where the data of a collective operation are in a rank's buffers, before and after the operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/benchmarks/collective/collective_data.h"
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
  std::size_t count = 0;  ///< of one block, as in CollectiveCall
};

/// The count for `size` bytes of the larger buffer, as nccl-tests computes it: for operations on
/// blocks, a rank's part rounded down to 16 bytes. 0: too few bytes for one element per rank.
std::size_t block_count(CollectiveOperation operation, DataType type, std::uint64_t size,
                        int ranks);
/// Whether the operation has an in-place form: all_reduce, all_gather, reduce_scatter, broadcast,
/// reduce.
bool runs_in_place(CollectiveOperation operation);

std::size_t send_elements(const CollectiveShape& shape);
std::size_t receive_elements(const CollectiveShape& shape);
/// Bytes of the larger buffer: the size that nccl-tests prints.
std::uint64_t larger_bytes(const CollectiveShape& shape);
/// In place, both buffers are in one of larger_bytes(); these are their offsets.
std::size_t send_offset(const CollectiveShape& shape, int rank);
std::size_t receive_offset(const CollectiveShape& shape, int rank);

/// A range of elements from `at` in the receive buffer.
struct ExpectedRange {
  std::size_t at = 0;
  DataRange data;
};
/// What a rank's receive buffer must hold afterwards, in order, if every rank's send buffer starts
/// with its element 0. Empty where the operation writes nothing: on ranks other than the root of
/// reduce and gather.
std::vector<ExpectedRange> expected_received(const CollectiveShape& shape, int rank);
/// The kind of data that is sent.
DataKind sent_kind(CollectiveOperation operation);

}  // namespace assay
