// The contract of every communicator: its operations are checked element by element on host memory,
// and what all kinds promise about communicators is checked on the device's memory.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
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

/// Elements in host memory, surrounded by margins that must not be written.
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

  /// Returns numbers so small that every type holds them and their sums and products over five
  /// ranks exactly.
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

  /// Writes the expected contents of `out`; elements that the operation does not define stay
  /// unchanged.
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
  // In place, only the rank's own block is defined after reduce_scatter.
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
/// how many calls were run and how many were refused.
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

/// One rank's vector on its device.
class RankVector {
 public:
  static constexpr std::size_t count = 100003;  // floats: more than one piece of any library

  RankVector(Device& device, Stream& stream) : stream_(stream) {
    auto made = device.allocate(count * sizeof(float), MemoryKind::device);
    EXPECT_TRUE(made) << made.error().message;
    if (made) buffer_ = std::move(*made);
  }
  float* data() const { return buffer_.as<float>(); }
  std::size_t bytes() const { return buffer_.bytes(); }

  /// Elements are small whole numbers, so sums are exact in any order.
  static float element(int rank, std::size_t i) {
    return static_cast<float>(rank + 1) + static_cast<float>(i % 17);
  }
  void fill(int rank) const {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element(rank, i);
    EXPECT_TRUE(stream_.copy(buffer_.data(), values.data(), bytes()));
    EXPECT_TRUE(stream_.synchronize());
  }
  /// Expects the sum of the contents of `ranks`, times `factor`.
  void expect_sum(const std::vector<int>& ranks, float factor, const std::string& where) const {
    std::vector<float> values(count);
    EXPECT_TRUE(stream_.copy(values.data(), buffer_.data(), bytes()));
    EXPECT_TRUE(stream_.synchronize());
    for (std::size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (const int rank : ranks) sum += element(rank, i);
      ASSERT_EQ(values[i], factor * sum) << where << ": element " << i;
    }
  }
  /// Returns an in-place all-reduce (sum) over the ranks of a communicator.
  CollectiveCall sum_up() const {
    CollectiveCall call;
    call.send = call.receive = data();
    call.count = count;
    return call;
  }

 private:
  Stream& stream_;
  Buffer buffer_;
};

/// One rank of the checks that communicators of a kind can coexist, split and queue. All ranks of
/// `team` make one with the same arguments. Ranks synchronise before memory is freed and after a
/// communicator was destroyed, as communicator.h requires of ranks that are threads.
struct CommunicatorContract {
  const CommunicatorKind& kind;
  Device& device;
  Team& team;
  Stream& stream;
  /// Whether enqueue() should work, also within a capture; whether ranks can exchange messages.
  bool queues = true, captures = true, messages = true;
  RankVector source{device, stream}, vector{device, stream}, result{device, stream};

  ~CommunicatorContract() { meet("the end of the contract"); }
  void meet(std::string_view where) const {
    const auto met = team.exchange(where, "");
    EXPECT_TRUE(met) << met.error().message;
  }
  std::unique_ptr<Communicator> make(const CommunicatorConfig& config) const {
    auto made = kind.create(device, team, config);
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  void expect_sum_of(Communicator& communicator, const std::vector<int>& ranks,
                     const std::string& where) const {
    vector.fill(team.rank());
    const Status ran = communicator.run(vector.sum_up(), stream);
    ASSERT_TRUE(ran) << where << ": " << ran.error().message;
    ASSERT_TRUE(stream.synchronize());
    ASSERT_TRUE(communicator.status());
    vector.expect_sum(ranks, 1, where);
  }
  std::vector<int> everyone() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < team.size(); ++rank) ranks.push_back(rank);
    return ranks;
  }

  void expect_all() const {
    expect_several_at_once();
    meet("several at once have ended");
    expect_splits();
    meet("splits have ended");
    expect_registration();
    meet("registration has ended");
    if (queues) expect_order_on_the_stream();
    meet("the order has been seen");
    if (captures) expect_capture();
    expect_bad_bounds_refused();
  }

  /// Uses two communicators of the whole team and one split from each in turn, made and destroyed
  /// in any order.
  void expect_several_at_once() const {
    auto first = make({});
    auto second = make({1, 4});
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->rank(), team.rank());
    EXPECT_EQ(first->size(), team.size());
    auto third = first->split(0, -team.rank(), {2, 2});
    ASSERT_TRUE(third) << third.error().message;
    for (int round = 0; round < 3; ++round) {
      expect_sum_of(*first, everyone(), "the first of several");
      expect_sum_of(*second, everyone(), "the second of several");
      expect_sum_of(**third, everyone(), "one split from the first");
    }
    first.reset();
    meet("the first has ended");
    expect_sum_of(**third, everyone(), "what outlives its origin");
    auto fourth = second->split(0, 0, {});
    ASSERT_TRUE(fourth) << fourth.error().message;
    expect_sum_of(**fourth, everyone(), "one split from the second");
  }

  /// Splits into even and odd ranks, each in reverse order; then into halves of these; then with a
  /// rank that is in no part.
  void expect_splits() const {
    const auto whole = make({});
    ASSERT_TRUE(whole);
    const int rank = team.rank(), ranks = team.size();
    std::vector<int> ours;
    for (int other = ranks - 1; other >= 0; --other) {
      if (other % 2 == rank % 2) ours.push_back(other);
    }
    auto part = whole->split(rank % 2, -rank, {});
    ASSERT_TRUE(part) << part.error().message;
    ASSERT_NE(*part, nullptr);
    ASSERT_EQ((*part)->size(), static_cast<int>(ours.size()));
    EXPECT_EQ(ours[static_cast<std::size_t>((*part)->rank())], rank);
    EXPECT_EQ((*part)->library(), whole->library());
    expect_sum_of(**part, ours, "a half");
    expect_gathered(**part, ours);

    const auto again = (*part)->split(0, -(*part)->rank(), {});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ((*again)->rank(), (*part)->size() - 1 - (*part)->rank());
    expect_sum_of(**again, ours, "a part of a half");

    const auto without_0 = whole->split(rank == 0 ? -1 : 5, 0, {});
    ASSERT_TRUE(without_0) << without_0.error().message;
    EXPECT_EQ(*without_0 == nullptr, rank == 0);
    if (rank > 0) {
      std::vector<int> others = everyone();
      others.erase(others.begin());
      expect_sum_of(**without_0, others, "all but rank 0");
    }
    expect_sum_of(*whole, everyone(), "the whole after its splits");
  }

  /// Expects blocks in the order of the part's ranks.
  void expect_gathered(Communicator& part, const std::vector<int>& ours) const {
    const std::size_t n = ours.size();
    const std::size_t bytes = n * sizeof(float);
    std::vector<float> values(n, static_cast<float>(team.rank()));
    ASSERT_TRUE(stream.copy(vector.data(), values.data(), bytes));
    ASSERT_TRUE(stream.synchronize());
    CollectiveCall call;
    call.operation = CollectiveOperation::all_gather;
    call.receive = vector.data();
    call.send = vector.data() + part.rank();
    call.count = 1;
    ASSERT_TRUE(part.run(call, stream));
    ASSERT_TRUE(stream.copy(values.data(), vector.data(), bytes));
    ASSERT_TRUE(stream.synchronize());
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(values[i], static_cast<float>(ours[i]));
  }

  void expect_registration() const {
    const auto whole = make({});
    ASSERT_TRUE(whole);
    vector.fill(team.rank());
    auto registration = whole->register_memory(vector.data(), vector.bytes());
    ASSERT_TRUE(registration) << registration.error().message;
    ASSERT_TRUE(whole->run(vector.sum_up(), stream));
    vector.expect_sum(everyone(), 1, "registered memory");
    *registration = Registration();
    vector.fill(team.rank());
    ASSERT_TRUE(whole->run(vector.sum_up(), stream));
    vector.expect_sum(everyone(), 1, "memory that was registered");
  }

  /// Queues a copy, two sums and another copy without waiting in between; all must run in the
  /// stream's order.
  void expect_order_on_the_stream() const {
    const auto whole = make({});
    ASSERT_TRUE(whole);
    source.fill(team.rank());
    const auto ranks = static_cast<float>(team.size());
    for (int round = 0; round < 5; ++round) {
      ASSERT_TRUE(stream.fill(vector.data(), 0, vector.bytes()));
      ASSERT_TRUE(stream.copy(vector.data(), source.data(), vector.bytes()));
      for (int time = 0; time < 2; ++time) {
        const Status queued = whole->enqueue(vector.sum_up(), stream);
        ASSERT_TRUE(queued) << queued.error().message;
      }
      ASSERT_TRUE(stream.copy(result.data(), vector.data(), vector.bytes()));
      ASSERT_TRUE(stream.fill(vector.data(), 0, vector.bytes()));
    }
    result.expect_sum(everyone(), ranks, "queued operations");
    expect_ring(*whole);
    EXPECT_TRUE(whole->status());
  }

  /// Queues messages to the next rank.
  void expect_ring(Communicator& whole) const {
    const int rank = team.rank(), ranks = team.size(), before = (rank + ranks - 1) % ranks;
    if (ranks == 1 || !messages) return;  // some libraries cannot send messages to oneself
    vector.fill(rank);
    const Message out = {(rank + 1) % ranks, vector.data(), vector.bytes()};
    const Message in = {before, result.data(), result.bytes()};
    ASSERT_TRUE(stream.fill(result.data(), 0, result.bytes()));
    ASSERT_TRUE(whole.enqueue({&out, 1}, {&in, 1}, stream));
    ASSERT_TRUE(stream.fill(vector.data(), 0, vector.bytes()));
    result.expect_sum({before}, 1, "queued messages");
  }

  /// A captured operation does nothing until its graph is launched, and then each time.
  void expect_capture() const {
    const auto whole = make({});
    ASSERT_TRUE(whole);
    source.fill(team.rank());
    // Libraries connect the ranks on first use, which must not happen within a capture.
    vector.fill(team.rank());
    ASSERT_TRUE(whole->enqueue(vector.sum_up(), stream));
    vector.fill(team.rank());
    const auto ranks = static_cast<float>(team.size());
    ASSERT_TRUE(stream.begin_capture());
    ASSERT_TRUE(stream.copy(vector.data(), source.data(), vector.bytes()));
    const Status first = whole->enqueue(vector.sum_up(), stream);
    const Status second = whole->enqueue(vector.sum_up(), stream);
    auto graph = stream.end_capture();
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_TRUE(graph) << graph.error().message;
    ASSERT_TRUE(stream.synchronize());
    vector.expect_sum({team.rank()}, 1, "captured work before a launch");
    for (int launch = 0; launch < 3; ++launch) {
      ASSERT_TRUE(stream.launch(**graph));
      vector.expect_sum(everyone(), ranks, "a launched graph");
    }
    EXPECT_TRUE(whole->status());
  }

  void expect_bad_bounds_refused() const {
    for (const CommunicatorConfig& config : {CommunicatorConfig{4, 2}, {-1, 0}, {0, -1}}) {
      const auto made = kind.create(device, team, config);
      ASSERT_FALSE(made);
      EXPECT_EQ(made.error().kind, ErrorKind::usage) << made.error().message;
    }
  }
};

/// Returns the communicator kind of this name, which must exist.
inline CommunicatorKind communicator_kind(std::string_view name) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.name == name) return kind;
  }
  ADD_FAILURE() << "there is no communicator " << name;
  return {};
}

}  // namespace assay
