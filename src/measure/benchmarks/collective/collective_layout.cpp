#include "measure/benchmarks/collective/collective_layout.h"

#include <algorithm>

namespace assay {
namespace {

using Operation = CollectiveOperation;

bool sends_blocks(Operation operation) {
  return operation == Operation::reduce_scatter || operation == Operation::all_to_all ||
         operation == Operation::scatter;
}

bool receives_blocks(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::all_to_all ||
         operation == Operation::gather;
}

}  // namespace

std::size_t block_count(Operation operation, DataType type, std::uint64_t size, int ranks) {
  const std::size_t elements = size / size_of(type);
  if (!sends_blocks(operation) && !receives_blocks(operation)) return elements;
  const std::size_t unit = 16 / size_of(type);
  return elements / static_cast<std::size_t>(ranks) / unit * unit;
}

bool runs_in_place(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::all_gather ||
         operation == Operation::reduce_scatter || operation == Operation::broadcast ||
         operation == Operation::reduce;
}

std::size_t send_elements(const CollectiveShape& shape) {
  return sends_blocks(shape.operation) ? shape.count * static_cast<std::size_t>(shape.ranks)
                                       : shape.count;
}

std::size_t receive_elements(const CollectiveShape& shape) {
  return receives_blocks(shape.operation) ? shape.count * static_cast<std::size_t>(shape.ranks)
                                          : shape.count;
}

std::uint64_t larger_bytes(const CollectiveShape& shape) {
  return elements_of(shape.operation, shape.count, shape.ranks) * size_of(shape.type);
}

std::size_t send_offset(const CollectiveShape& shape, int rank) {
  return shape.operation == Operation::all_gather ? shape.count * static_cast<std::size_t>(rank)
                                                  : 0;
}

std::size_t receive_offset(const CollectiveShape& shape, int rank) {
  return shape.operation == Operation::reduce_scatter ? shape.count * static_cast<std::size_t>(rank)
                                                      : 0;
}

std::vector<ExpectedRange> expected_received(const CollectiveShape& shape, int rank) {
  const std::size_t count = shape.count;
  const std::size_t mine = count * static_cast<std::size_t>(rank);
  const auto all_from = [&](DataKind kind, int source, std::size_t first) {
    return std::vector<ExpectedRange>{{0, {kind, source, first, count}}};
  };
  const auto block_of_each = [&](std::size_t first) {
    std::vector<ExpectedRange> ranges;
    for (int source = 0; source < shape.ranks; ++source) {
      ranges.push_back(
          {count * static_cast<std::size_t>(source), {DataKind::bits, source, first, count}});
    }
    return ranges;
  };
  switch (shape.operation) {
    case Operation::all_reduce:
      return all_from(DataKind::reduced, 0, 0);
    case Operation::reduce_scatter:
      return all_from(DataKind::reduced, 0, mine);
    case Operation::reduce:
      if (rank != collective_root) return {};
      return all_from(DataKind::reduced, 0, 0);
    case Operation::broadcast:
      return all_from(DataKind::bits, collective_root, 0);
    case Operation::scatter:
      return all_from(DataKind::bits, collective_root, mine);
    case Operation::send_recv:
      return all_from(DataKind::bits, (rank + shape.ranks - 1) % shape.ranks, 0);
    case Operation::all_gather:
      return block_of_each(0);
    case Operation::gather:
      if (rank != collective_root) return {};
      return block_of_each(0);
    case Operation::all_to_all:
      return block_of_each(mine);
  }
  return {};
}

DataKind sent_kind(Operation operation) {
  return reduces(operation) ? DataKind::part : DataKind::bits;
}

}  // namespace assay
