// The positions of a collective's data in a rank's buffers, before and after the operation.
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
  std::size_t count = 0;  ///< elements of one block, as in CollectiveCall
};

/// The element count for `size` bytes of the larger buffer, computed as in nccl-tests. For
/// operations on blocks (all_gather, reduce_scatter, all_to_all, gather, scatter) it is a rank's
/// part, rounded down to 16 bytes. It is 0 if `size` is less than one element, or than 16 bytes per
/// rank for operations on blocks.
std::size_t block_count(CollectiveOperation operation, DataType type, std::uint64_t size,
                        int ranks);
/// Returns whether the operation has an in-place form: all_reduce, all_gather, reduce_scatter,
/// broadcast, reduce.
bool runs_in_place(CollectiveOperation operation);

std::size_t send_elements(const CollectiveShape& shape);
std::size_t receive_elements(const CollectiveShape& shape);
/// Bytes of the larger buffer: the size that nccl-tests prints.
std::uint64_t larger_bytes(const CollectiveShape& shape);
/// Offsets, in elements, of a rank's send and receive buffer within the buffer of larger_bytes()
/// that both share when the operation is in place.
std::size_t send_offset(const CollectiveShape& shape, int rank);
std::size_t receive_offset(const CollectiveShape& shape, int rank);

/// Expected elements in the receive buffer, from offset `at` (in elements) on.
struct ExpectedRange {
  std::size_t at = 0;
  DataRange data;
};
/// The expected content of a rank's receive buffer after the operation, in order, if every rank's
/// send buffer starts with element 0 of its data. Empty if the operation writes nothing there: on
/// all ranks but the root for reduce and gather.
std::vector<ExpectedRange> expected_received(const CollectiveShape& shape, int rank);
/// The kind of data that ranks send in an operation.
DataKind sent_kind(CollectiveOperation operation);

}  // namespace assay
