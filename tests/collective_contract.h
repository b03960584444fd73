// What every communicator must do, checked element by element in host memory.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "compute/kernels/element_types.h"
#include "ranks/collective/communicator.h"

namespace assay {

inline const std::vector<DataType>& stored_types() {
  static const std::vector<DataType> types = {
      DataType::f64,  DataType::f32,       DataType::f16,       DataType::bf16, DataType::e4m3,
      DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz, DataType::i8,   DataType::i32,
      DataType::u8,   DataType::u32,       DataType::i64,       DataType::u64};
  return types;
}

inline void store_element(DataType type, void* to, double value) {
  const auto store = [&](auto element) { std::memcpy(to, &element, sizeof(element)); };
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DataType::f64:
      return store(value);
    case DataType::f16:
      return store(F16::encode(narrow));
    case DataType::bf16:
      return store(Bf16::encode(narrow));
    case DataType::e4m3:
      return store(E4m3::encode(narrow));
    case DataType::e5m2:
      return store(E5m2::encode(narrow));
    case DataType::e4m3_fnuz:
      return store(E4m3Fnuz::encode(narrow));
    case DataType::e5m2_fnuz:
      return store(E5m2Fnuz::encode(narrow));
    case DataType::i8:
    case DataType::u8:
      return store(static_cast<unsigned char>(value));
    case DataType::i32:
    case DataType::u32:
      return store(static_cast<int>(value));
    case DataType::i64:
    case DataType::u64:
      return store(static_cast<long>(value));
    default:
      return store(narrow);
  }
}

/// Elements in host memory between margins that must not be written.
class HostElements {
 public:
  HostElements(DataType type, std::size_t count)
      : type_(type), bytes_(count * size_of(type)), memory_(bytes_ / 8 + 1 + margin, filler) {}
  std::byte* at(std::size_t element) {
    return reinterpret_cast<std::byte*>(memory_.data()) + element * size_of(type_);
  }
  void set(std::size_t element, double value) { store_element(type_, at(element), value); }
  bool operator==(const HostElements& other) const { return memory_ == other.memory_; }
  std::size_t first_difference(const HostElements& other) const {
    const auto* a = reinterpret_cast<const std::byte*>(memory_.data());
    const auto* b = reinterpret_cast<const std::byte*>(other.memory_.data());
    std::size_t i = 0;
    while (i < memory_.size() * 8 && a[i] == b[i]) ++i;
    return i / size_of(type_);
  }

 private:
  static constexpr std::size_t margin = 8;
  static constexpr std::uint64_t filler = 0xA5A5A5A5A5A5A5A5;
  DataType type_;
  std::size_t bytes_;
  std::vector<std::uint64_t> memory_;
};

/// One operation on all ranks, with its input and its expected result.
struct CollectiveExample {
  CollectiveCall call;
  int rank = 0, ranks = 1;
  bool in_place = false;

  /// Small enough that every type holds the value and its sums and products over five ranks
  /// exactly.
  double element(int of_rank, std::size_t i) const {
    const auto mixed = static_cast<unsigned>((i + 1) * 2654435761u) ^
                       (static_cast<unsigned>(of_rank + 1) * 40503u << 7);
    const unsigned some = mixed >> 11;
    if (!reduces(call.operation)) return some % 8;
    if (call.reduction == Reduction::prod) return 1 + some % 2;
    if (call.reduction == Reduction::sum) return some % 2;
    if (call.reduction == Reduction::avg) return i % 2 == 0 ? 1 : 0;
    return some % 8;
  }

  double reduced(std::size_t i) const {
    double result = element(0, i);
    for (int other = 1; other < ranks; ++other) {
      const double x = element(other, i);
      switch (call.reduction) {
        case Reduction::sum:
        case Reduction::avg:
          result += x;
          break;
        case Reduction::prod:
          result *= x;
          break;
        case Reduction::min:
          result = std::min(result, x);
          break;
        case Reduction::max:
          result = std::max(result, x);
          break;
      }
    }
    return call.reduction == Reduction::avg ? result / ranks : result;
  }

  std::size_t blocks(bool of_input) const {
    using enum CollectiveOperation;
    const bool all_in = call.operation == reduce_scatter || call.operation == all_to_all ||
                        (call.operation == scatter && rank == call.root);
    const bool all_out = call.operation == all_gather || call.operation == all_to_all ||
                         (call.operation == gather && rank == call.root);
    return (of_input ? all_in : all_out) ? static_cast<std::size_t>(ranks) : 1;
  }

  /// The expected contents of `out`; elements that the operation does not define stay as they were.
  void expect_in(HostElements& out, std::size_t at) const {
    using enum CollectiveOperation;
    const std::size_t n = call.count;
    const auto me = static_cast<std::size_t>(rank);
    const bool is_root = rank == call.root;
    for (std::size_t block = 0; block < blocks(false); ++block) {
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t to = at + block * n + i;
        const int from = static_cast<int>(block);
        switch (call.operation) {
          case all_reduce:
            out.set(to, reduced(i));
            break;
          case reduce:
            if (is_root) out.set(to, reduced(i));
            break;
          case reduce_scatter:
            out.set(to, reduced(me * n + i));
            break;
          case broadcast:
            out.set(to, element(call.root, i));
            break;
          case all_gather:
            out.set(to, element(from, i));
            break;
          case gather:
            if (is_root) out.set(to, element(from, i));
            break;
          case scatter:
            out.set(to, element(call.root, me * n + i));
            break;
          case all_to_all:
            out.set(to, element(from, me * n + i));
            break;
          case send_recv:
            out.set(to, element((rank + ranks - 1) % ranks, i));
            break;
        }
      }
    }
  }

  std::string text() const {
    return fmt::format("{} {} {} count {} root {} rank {} of {}{}", name_of(call.operation),
                       name_of(call.type), name_of(call.reduction), call.count, call.root, rank,
                       ranks, in_place ? " in place" : "");
  }
};

inline bool has_in_place(CollectiveOperation operation) {
  using enum CollectiveOperation;
  return operation == all_reduce || operation == broadcast || operation == reduce ||
         operation == all_gather || operation == reduce_scatter;
}

/// Runs `example` on this rank and compares all memory that belongs to it.
inline void expect_collective(Communicator& communicator, Stream& stream,
                              CollectiveExample example) {
  using enum CollectiveOperation;
  CollectiveCall& call = example.call;
  const auto me = static_cast<std::size_t>(example.rank);
  HostElements in(call.type, example.blocks(true) * call.count);
  HostElements out(call.type, example.blocks(false) * call.count);
  HostElements& source = example.in_place && call.operation == all_gather ? out : in;
  const std::size_t from = &source == &out ? me * call.count : 0;
  for (std::size_t i = 0; i < example.blocks(true) * call.count; ++i) {
    source.set(from + i, example.element(example.rank, i));
  }
  call.send = source.at(from);
  HostElements& target = example.in_place ? source : out;
  const std::size_t at = example.in_place && call.operation == reduce_scatter ? me * call.count : 0;
  call.receive = target.at(at);
  HostElements expected = target;
  example.expect_in(expected, at);
  const HostElements input = in;
  const Status status = communicator.run(call, stream);
  ASSERT_TRUE(status) << example.text() << ": " << status.error().message;
  ASSERT_TRUE(stream.synchronize());
  // After a reduction, `receive` is undefined on ranks other than the root.
  const bool undefined = call.operation == reduce && example.rank != call.root;
  // In place only the rank's own block is defined after reduce_scatter.
  if (example.in_place && call.operation == reduce_scatter) {
    EXPECT_EQ(std::memcmp(target.at(at), expected.at(at), call.count * size_of(call.type)), 0)
        << example.text();
  } else if (!undefined) {
    EXPECT_TRUE(target == expected)
        << example.text() << ": element " << target.first_difference(expected);
  }
  if (!example.in_place) EXPECT_TRUE(in == input) << example.text() << ": its input changed";
}

/// Runs every operation, type, reduction and root, in place and not, for each of `counts`. Returns
/// how many were run and how many were refused.
struct ContractTally {
  int run = 0, refused = 0;
};
inline ContractTally expect_collectives(Communicator& communicator, Stream& stream, int rank,
                                        int ranks, const std::vector<std::size_t>& counts) {
  ContractTally tally;
  for (int op = 0; op <= static_cast<int>(CollectiveOperation::send_recv); ++op) {
    const auto operation = static_cast<CollectiveOperation>(op);
    for (const DataType type : stored_types()) {
      for (int reduction = 0; reduction <= static_cast<int>(Reduction::avg); ++reduction) {
        if (reduction > 0 && !reduces(operation)) break;
        for (int root = 0; root < (has_root(operation) ? ranks : 1); ++root) {
          for (const std::size_t count : counts) {
            for (const bool in_place : {false, true}) {
              CollectiveExample example;
              example.call.operation = operation;
              example.call.count = count;
              example.call.type = type;
              example.call.reduction = static_cast<Reduction>(reduction);
              example.call.root = root;
              example.rank = rank;
              example.ranks = ranks;
              example.in_place = in_place;
              if (in_place && !has_in_place(operation)) continue;
              if (communicator.unsupported(operation, type, example.call.reduction)) {
                ++tally.refused;
                continue;
              }
              expect_collective(communicator, stream, example);
              ++tally.run;
              if (testing::Test::HasFatalFailure()) return tally;
            }
          }
        }
      }
    }
  }
  return tally;
}

/// Exchanges messages of several sizes with every rank, including this one.
inline void expect_messages(Communicator& communicator, Stream& stream, int rank, int ranks) {
  const std::vector<std::size_t> sizes = {0, 1, 1000003, 17};
  std::vector<std::vector<unsigned char>> going, coming;
  std::vector<Message> sends, receives;
  const auto pattern = [](int from, int to, std::size_t index) {
    return static_cast<unsigned char>(1 + from * 31 + to * 7 + static_cast<int>(index));
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (int peer = 0; peer < ranks; ++peer) {
      going.emplace_back(sizes[i] + 1, pattern(rank, peer, i));
      coming.emplace_back(sizes[i] + 1, static_cast<unsigned char>(0));
      sends.push_back({peer, going.back().data(), sizes[i]});
      receives.push_back({peer, coming.back().data(), sizes[i]});
    }
  }
  const Status status = communicator.transfer(sends, receives, stream);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_TRUE(stream.synchronize());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (int peer = 0; peer < ranks; ++peer) {
      std::vector<unsigned char> expected(sizes[i] + 1, pattern(peer, rank, i));
      expected.back() = 0;
      EXPECT_EQ(coming[i * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(peer)],
                expected)
          << "message " << i << " from " << peer << " to " << rank;
    }
  }
}

/// The communicator of this kind, which must be there.
inline CommunicatorKind communicator_kind(std::string_view name) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.name == name) return kind;
  }
  ADD_FAILURE() << "there is no communicator " << name;
  return {};
}

}  // namespace assay
