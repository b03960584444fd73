#include "advise/selftest/contracts/collective_examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "advise/selftest/expect.h"
#include "compute/stored_elements.h"

namespace assay::selftest {
namespace {

constexpr DataType stored_types[] = {
    DataType::f64,  DataType::f32,       DataType::f16,       DataType::bf16, DataType::e4m3,
    DataType::e5m2, DataType::e4m3_fnuz, DataType::e5m2_fnuz, DataType::i8,   DataType::i32,
    DataType::u8,   DataType::u32,       DataType::i64,       DataType::u64};

/// Elements in host memory, surrounded by margins that must not be written.
class HostElements {
 public:
  HostElements(DataType type, std::size_t count)
      : type_(type), memory_(count * size_of(type) / 8 + 1 + margin, filler) {}
  std::byte* at(std::size_t element) { return data() + element * size_of(type_); }
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  std::size_t bytes() const { return memory_.size() * sizeof(memory_[0]); }
  void set(std::size_t element, double value) { store_element(type_, at(element), value); }
  bool operator==(const HostElements& other) const { return memory_ == other.memory_; }
  std::size_t first_difference(const HostElements& other) const {
    const auto* a = reinterpret_cast<const std::byte*>(memory_.data());
    const auto* b = reinterpret_cast<const std::byte*>(other.memory_.data());
    return static_cast<std::size_t>(std::mismatch(a, a + bytes(), b).first - a) / size_of(type_);
  }

 private:
  static constexpr std::size_t margin = 8;
  static constexpr std::uint64_t filler = 0xA5A5A5A5A5A5A5A5;
  DataType type_;
  std::vector<std::uint64_t> memory_;
};

/// Returns element i of a rank's input.
double element(const CollectiveExample& example, int of_rank, std::size_t i) {
  const CollectiveCall& call = example.call;
  const auto mixed = static_cast<unsigned>((i + 1) * 2654435761u) ^
                     (static_cast<unsigned>(of_rank + 1) * 40503u << 7);
  const unsigned some = mixed >> 11;
  if (!reduces(call.operation)) return some % 8;
  if (call.reduction == Reduction::prod) return 1 + some % 2;
  if (call.reduction == Reduction::sum) return some % 2;
  if (call.reduction == Reduction::avg) return i % 2 == 0 ? 1 : 0;
  return some % 8;
}

double reduced(const CollectiveExample& example, std::size_t i) {
  double result = element(example, 0, i);
  for (int other = 1; other < example.ranks; ++other) {
    const double x = element(example, other, i);
    switch (example.call.reduction) {
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
  return example.call.reduction == Reduction::avg ? result / example.ranks : result;
}

/// Returns how many blocks of `count` elements this rank's input has, or its result.
std::size_t blocks(const CollectiveExample& example, bool of_input) {
  using enum CollectiveOperation;
  const CollectiveOperation operation = example.call.operation;
  const bool is_root = example.rank == example.call.root;
  const bool all_in =
      operation == reduce_scatter || operation == all_to_all || (operation == scatter && is_root);
  const bool all_out =
      operation == all_gather || operation == all_to_all || (operation == gather && is_root);
  return (of_input ? all_in : all_out) ? static_cast<std::size_t>(example.ranks) : 1;
}

/// Returns element i of block `block` of this rank's result; empty if the operation defines none.
std::optional<double> result(const CollectiveExample& example, std::size_t block, std::size_t i) {
  using enum CollectiveOperation;
  const CollectiveCall& call = example.call;
  const bool is_root = example.rank == call.root;
  const std::size_t in_own_block = static_cast<std::size_t>(example.rank) * call.count + i;
  const int from = static_cast<int>(block);
  switch (call.operation) {
    case all_reduce:
      return reduced(example, i);
    case reduce:
      return is_root ? std::optional(reduced(example, i)) : std::nullopt;
    case reduce_scatter:
      return reduced(example, in_own_block);
    case broadcast:
      return element(example, call.root, i);
    case all_gather:
      return element(example, from, i);
    case gather:
      return is_root ? std::optional(element(example, from, i)) : std::nullopt;
    case scatter:
      return element(example, call.root, in_own_block);
    case all_to_all:
      return element(example, from, in_own_block);
    case send_recv:
      break;
  }
  return element(example, (example.rank + example.ranks - 1) % example.ranks, i);
}

}  // namespace

std::string CollectiveExample::text() const {
  return fmt::format("{} {} {} count {} root {} rank {} of {}{}", name_of(call.operation),
                     name_of(call.type), name_of(call.reduction), call.count, call.root, rank,
                     ranks, in_place ? " in place" : "");
}

bool has_in_place(CollectiveOperation operation) {
  using enum CollectiveOperation;
  return operation == all_reduce || operation == broadcast || operation == reduce ||
         operation == all_gather || operation == reduce_scatter;
}

Result<DeviceOperands> DeviceOperands::create(Device& device, std::size_t bytes) {
  return DeviceOperands{TRY(device.allocate(bytes, MemoryKind::device)),
                        TRY(device.allocate(bytes, MemoryKind::device))};
}

Status check_collective(Communicator& communicator, Stream& stream, CollectiveExample example,
                        const DeviceOperands* on_device) {
  using enum CollectiveOperation;
  CollectiveCall& call = example.call;
  const auto me = static_cast<std::size_t>(example.rank);
  HostElements in(call.type, blocks(example, true) * call.count);
  HostElements out(call.type, blocks(example, false) * call.count);
  HostElements& source = example.in_place && call.operation == all_gather ? out : in;
  const std::size_t from = &source == &out ? me * call.count : 0;
  for (std::size_t i = 0; i < blocks(example, true) * call.count; ++i) {
    source.set(from + i, element(example, example.rank, i));
  }
  HostElements& target = example.in_place ? source : out;
  const std::size_t at = example.in_place && call.operation == reduce_scatter ? me * call.count : 0;
  HostElements expected = target;
  for (std::size_t block = 0; block < blocks(example, false); ++block) {
    for (std::size_t i = 0; i < call.count; ++i) {
      const auto value = result(example, block, i);
      if (value) expected.set(at + block * call.count + i, *value);
    }
  }
  const HostElements input = in;

  const auto placed = [&](HostElements& elements, std::size_t i) -> std::byte* {
    if (on_device == nullptr) return elements.at(i);
    const Buffer& memory = &elements == &in ? on_device->in : on_device->out;
    return memory.as<std::byte>() + (elements.at(i) - elements.data());
  };
  call.send = placed(source, from);
  call.receive = placed(target, at);
  if (on_device != nullptr) {
    TRY(stream.copy(on_device->in.data(), in.data(), in.bytes()));
    TRY(stream.copy(on_device->out.data(), out.data(), out.bytes()));
    TRY(stream.synchronize());
  }
  const Status ran = communicator.run(call, stream);
  if (!ran) return Error{ran.error().kind, example.text() + ": " + ran.error().message};
  TRY(stream.synchronize());
  if (on_device != nullptr) {
    TRY(stream.copy(in.data(), on_device->in.data(), in.bytes()));
    TRY(stream.copy(out.data(), on_device->out.data(), out.bytes()));
    TRY(stream.synchronize());
  }

  // After a reduction, `receive` is undefined on ranks other than the root.
  const bool undefined = call.operation == reduce && example.rank != call.root;
  // In place, only the rank's own block is defined after reduce_scatter.
  const bool own_block = example.in_place && call.operation == reduce_scatter;
  const bool same =
      own_block ? std::memcmp(target.at(at), expected.at(at), call.count * size_of(call.type)) == 0
                : target == expected;
  if (!undefined && !same) {
    return wrong(fmt::format("{}: element {} of what it may write is wrong", example.text(),
                             target.first_difference(expected)));
  }
  return expect(example.in_place || in == input, example.text() + ": its input changed");
}

Result<CollectiveTally> check_collectives(Communicator& communicator, Stream& stream, int rank,
                                          int ranks, const std::vector<std::size_t>& counts,
                                          const DeviceOperands* on_device) {
  CollectiveTally tally;
  Status first;
  const auto check = [&](const CollectiveExample& example) -> Status {
    const CollectiveCall& call = example.call;
    if (communicator.unsupported(call.operation, call.type, call.reduction)) {
      ++tally.refused;
      return {};
    }
    const Status held = check_collective(communicator, stream, example, on_device);
    ++tally.run;
    if (!held && held.error().kind != ErrorKind::verification) return held;
    if (first.ok()) first = held;
    return {};
  };
  for (int op = 0; op <= static_cast<int>(CollectiveOperation::send_recv); ++op) {
    const auto operation = static_cast<CollectiveOperation>(op);
    const int reductions = reduces(operation) ? static_cast<int>(Reduction::avg) + 1 : 1;
    const int roots = has_root(operation) ? ranks : 1;
    for (const DataType type : stored_types) {
      for (int i = 0; i < reductions * roots; ++i) {
        for (const std::size_t count : counts) {
          for (const bool in_place : {false, true}) {
            if (in_place && !has_in_place(operation)) continue;
            CollectiveExample example;
            example.call.operation = operation;
            example.call.count = count;
            example.call.type = type;
            example.call.reduction = static_cast<Reduction>(i / roots);
            example.call.root = i % roots;
            example.rank = rank;
            example.ranks = ranks;
            example.in_place = in_place;
            TRY(check(example));
          }
        }
      }
    }
  }
  TRY(first);
  return tally;
}

Status check_messages(Communicator& communicator, Stream& stream, int rank, int ranks) {
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
  TRY(communicator.transfer(sends, receives, stream));
  TRY(stream.synchronize());
  auto arrived = coming.begin();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (int peer = 0; peer < ranks; ++peer) {
      std::vector<unsigned char> expected(sizes[i] + 1, pattern(peer, rank, i));
      expected.back() = 0;
      TRY(expect(*arrived++ == expected,
                 fmt::format("message {} from rank {} to {} is wrong", i, peer, rank)));
    }
  }
  return {};
}

}  // namespace assay::selftest
