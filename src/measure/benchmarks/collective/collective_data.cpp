#include "measure/benchmarks/collective/collective_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "compute/device/helpers.h"

namespace assay {
namespace {

template <typename T>
std::string number_text(const std::vector<std::uint8_t>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return fmt::format("{}", value);
}

/// The element as a number; narrow floats as bits, because only bits were compared.
std::string text_of(const std::vector<std::uint8_t>& bytes, DataType type) {
  switch (type) {
    case DataType::f64:
      return number_text<double>(bytes);
    case DataType::f32:
      return number_text<float>(bytes);
    case DataType::i32:
      return number_text<std::int32_t>(bytes);
    case DataType::u32:
      return number_text<std::uint32_t>(bytes);
    case DataType::i64:
      return number_text<std::int64_t>(bytes);
    case DataType::u64:
      return number_text<std::uint64_t>(bytes);
    case DataType::i8:
      return fmt::format("{}", static_cast<std::int8_t>(bytes[0]));
    case DataType::u8:
      return fmt::format("{}", bytes[0]);
    default:
      return bytes.size() == 1 ? fmt::format("{:#04x}", bytes[0])
                               : fmt::format("{:#06x}", bytes[0] | bytes[1] << 8);
  }
}

}  // namespace

CollectiveData::CollectiveData(Device& device, DataType type, Reduction reduction, int ranks,
                               std::uint64_t seed, std::unique_ptr<Program> program, Buffer found)
    : device_(&device),
      type_(type),
      reduction_(reduction),
      ranks_(ranks),
      seed_(seed),
      program_(std::move(program)),
      found_(std::move(found)) {}

Result<CollectiveData> CollectiveData::create(Device& device, DataType type, Reduction reduction,
                                              int ranks, std::uint64_t seed) {
  auto program = TRY(device.build({"collective_data", {}}));
  const std::size_t blocks = filling_shape(device.facts()).grid.x;
  Buffer found = TRY(device.allocate(2 * blocks * sizeof(std::uint64_t), MemoryKind::device));
  CollectiveData data(device, type, reduction, ranks, seed, std::move(program), std::move(found));
  data.element_ = TRY(device.allocate(size_of(type), MemoryKind::device));
  return data;
}

Result<Kernel*> CollectiveData::kernel(std::string_view what, DataKind kind) {
  switch (kind) {
    case DataKind::bits:
      return program_->kernel(fmt::format("{}_bits_{}", what, size_of(type_)));
    case DataKind::part:
      return program_->kernel(fmt::format("{}_part_{}", what, name_of(type_)));
    case DataKind::reduced:
      break;
  }
  return program_->kernel(fmt::format("{}_reduced_{}", what, name_of(type_)));
}

Status CollectiveData::fill(Stream& stream, const DataRange& range, void* to) {
  Kernel* fill = TRY(kernel("fill", range.kind));
  return launch(stream, *fill, filling_shape(device_->facts()), to, range.count, range.first, seed_,
                static_cast<std::uint32_t>(range.rank), static_cast<std::uint32_t>(ranks_),
                static_cast<int>(reduction_));
}

Result<std::optional<WrongElements>> CollectiveData::check(Stream& stream, const DataRange& range,
                                                           const void* data) {
  Kernel* check = TRY(kernel("check", range.kind));
  const LaunchShape shape = filling_shape(device_->facts());
  TRY(launch(stream, *check, shape, found_.data(), data, range.count, range.first, seed_,
             static_cast<std::uint32_t>(range.rank), static_cast<std::uint32_t>(ranks_),
             static_cast<int>(reduction_)));
  const auto found = TRY(read_back<std::uint64_t>(stream, found_.data(), 2 * shape.grid.x));
  WrongElements wrong{0, range.count, {}, {}};
  for (std::size_t block = 0; block < shape.grid.x; ++block) {
    wrong.count += found[2 * block];
    wrong.index = std::min(wrong.index, found[2 * block + 1]);
  }
  if (wrong.count == 0) return std::optional<WrongElements>();
  const std::size_t bytes = size_of(type_);
  TRY(fill(stream, {range.kind, range.rank, range.first + wrong.index, 1}, element_.data()));
  wrong.expected = text_of(TRY(read_back<std::uint8_t>(stream, element_.data(), bytes)), type_);
  const auto* at = static_cast<const std::byte*>(data) + wrong.index * bytes;
  wrong.got = text_of(TRY(read_back<std::uint8_t>(stream, at, bytes)), type_);
  return std::optional(std::move(wrong));
}

std::optional<std::string> inexact_reduction(DataType type, Reduction reduction, int ranks) {
  if (reduction != Reduction::avg) return std::nullopt;
  // NCCL multiplies by 1/n in the element type (enqueue.cc, hostToDevRedOp), where 1/n must not be
  // subnormal. Integer averages are exact as long as the type can hold a multiple of n.
  int most = 0;
  switch (type) {
    case DataType::i8:
      most = 127;
      break;
    case DataType::u8:
      most = 255;
      break;
    case DataType::e4m3:
      most = 64;
      break;
    case DataType::e4m3_fnuz:
      most = 128;
      break;
    case DataType::e5m2:
    case DataType::e5m2_fnuz:
    case DataType::f16:
      most = 1 << 14;
      break;
    default:
      return std::nullopt;
  }
  if (ranks <= most) return std::nullopt;
  return fmt::format("an average of {} over more than {} ranks has no unique correct result",
                     name_of(type), most);
}

}  // namespace assay
