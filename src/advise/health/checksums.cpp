#include "advise/health/checksums.h"

#include <algorithm>
#include <cstring>

#include "compute/device/helpers.h"

namespace assay::health {
namespace {

constexpr unsigned checksum_threads = 256;

std::uint64_t mixed(std::uint64_t x) {  // as in compute/kernels/element_hash.h
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

Result<Checksums> Checksums::create(Device& device) {
  auto program = TRY(device.build({"checksum", {}}));
  Kernel* const sums = TRY(program->kernel("checksum_blocks"));
  Kernel* const flip = TRY(program->kernel("flip_bits"));
  Buffer blocks_run =
      TRY(device.allocate(multiprocessor_numbers * sizeof(std::uint32_t), MemoryKind::device));
  const auto stream = TRY(device.create_stream());
  TRY(stream->fill(blocks_run.data(), 0, blocks_run.bytes()));
  TRY(stream->synchronize());
  return Checksums(std::move(program), *sums, *flip, filling_shape(device.facts()).grid.x,
                   std::move(blocks_run));
}

Status Checksums::queue(Stream& stream, std::uint64_t* sums, const ChecksumBlock* blocks,
                        std::size_t count) const {
  if (count == 0) return {};
  const auto grid = static_cast<unsigned>(std::min<std::size_t>(count, blocks_));
  return launch(stream, *sums_, {{grid}, {checksum_threads}}, sums, blocks,
                static_cast<std::uint64_t>(count), blocks_run());
}

Status Checksums::flip(Stream& stream, void* word, std::uint64_t mask) const {
  return launch(stream, *flip_, {{1}, {1}}, word, mask);
}

Result<std::set<unsigned>> Checksums::multiprocessors(Stream& stream) const {
  const auto counts = TRY(read_back<std::uint32_t>(stream, blocks_run(), multiprocessor_numbers));
  std::set<unsigned> numbers;
  for (unsigned i = 0; i < multiprocessor_numbers; ++i) {
    if (counts[i] > 0) numbers.insert(i);
  }
  return numbers;
}

std::uint64_t Checksums::of_word(std::uint64_t word, std::uint64_t index) {
  return mixed(word + (index + 1) * 0x9E3779B97F4A7C15u);
}

std::uint64_t Checksums::of(const void* data, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i * 8 < bytes; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<const char*>(data) + 8 * i,
                std::min<std::size_t>(8, bytes - 8 * i));
    sum += of_word(word, i);
  }
  return sum;
}

std::uint64_t Checksums::combined(std::span<const std::uint64_t> sums) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) all += of_word(sums[i], i);
  return all;
}

}  // namespace assay::health
