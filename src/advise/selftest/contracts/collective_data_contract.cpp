#include "advise/selftest/contracts/collective_data_contract.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "advise/selftest/contracts/reference_reduction.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "measure/benchmarks/collective/collective_data.h"

namespace assay::selftest {
namespace {

constexpr std::uint64_t data_seed = 11, first_element = 17;

Status expect_right(const std::optional<WrongElements>& found, const std::string& what) {
  if (!found) return {};
  return wrong(fmt::format("{}: {} elements are wrong, number {} is {}, expected {}", what,
                           found->count, found->index, found->got, found->expected));
}

}  // namespace

Status check_reduced_data(Device& device, Stream& stream, DataType type, Reduction reduction,
                          int ranks, std::size_t elements) {
  auto data = TRY(CollectiveData::create(device, type, reduction, ranks, data_seed));
  const std::size_t bytes = elements * size_of(type);
  const Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
  std::vector<std::vector<std::byte>> parts;
  std::vector<const void*> sends;
  for (int rank = 0; rank < ranks; ++rank) {
    TRY(data.fill(stream, {DataKind::part, rank, first_element, elements}, buffer.data()));
    parts.push_back(TRY(read_back<std::byte>(stream, buffer.data(), bytes)));
    sends.push_back(parts.back().data());
  }
  const std::string what =
      fmt::format("{} of {} over {} ranks", name_of(reduction), name_of(type), ranks);
  std::vector<std::byte> reduced(bytes);
  const auto check = [&]() -> Result<std::optional<WrongElements>> {
    TRY(stream.copy(buffer.data(), reduced.data(), bytes));
    return data.check(stream, {DataKind::reduced, 0, first_element, elements}, buffer.data());
  };
  for (const bool backwards : {false, true}) {
    with_element(type, [&]<typename T>(T) {
      for (std::size_t i = 0; i < elements; ++i) {
        const T value = reference_reduced<T>(sends, i, reduction, backwards);
        std::memcpy(reduced.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
    const auto found = TRY(check());
    TRY(expect_right(found, what));
  }
  const std::size_t first = elements * 7 / 10;
  for (const std::size_t i : {first, elements - 1}) reduced[i * size_of(type)] ^= std::byte{1};
  const auto found = TRY(check());
  return expect(found && found->count == 2 && found->index == first,
                what + ": two wrong elements were not found");
}

Status check_same_bits(Device& device, Stream& stream, Device& other, Stream& other_stream,
                       DataType type, std::size_t elements) {
  auto here = TRY(CollectiveData::create(device, type, Reduction::sum, 3, data_seed));
  auto there = TRY(CollectiveData::create(other, type, Reduction::sum, 3, data_seed));
  const std::size_t bytes = elements * size_of(type);
  const Buffer buffer = TRY(device.allocate(bytes, MemoryKind::device));
  const Buffer other_buffer = TRY(other.allocate(bytes, MemoryKind::device));
  const DataRange range = {DataKind::bits, 2, first_element, elements};
  TRY(here.fill(stream, range, buffer.data()));
  const auto written = TRY(read_back<std::byte>(stream, buffer.data(), bytes));
  TRY(other_stream.copy(other_buffer.data(), written.data(), bytes));
  return expect_right(TRY(there.check(other_stream, range, other_buffer.data())),
                      fmt::format("bits of {}", name_of(type)));
}

}  // namespace assay::selftest
