#include "advise/occupancy/decompress.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace assay::occupancy {
namespace {

/// The number of bytes to allocate next for an output of `size` bytes in all. One byte more than
/// `size` reveals a wrong size, and small parts, of which a file may have many, allocate only what
/// they need.
std::size_t room_after(std::size_t before, std::uint64_t size) {
  constexpr std::uint64_t chunk = std::uint64_t{1} << 20;
  return std::min(chunk, size + 1 - before);
}

Error no_memory(std::string_view method) {
  return {ErrorKind::exhausted, fmt::format("no memory for {}", method)};
}

Error damaged(std::string_view method) {
  return malformed(fmt::format("damaged or cut off: a part compressed by {}", method));
}

// Bytes claimed by the file being read; nullopt if there is no budget. It is thread-local because a
// parameter would have to pass through every reader, even of formats without compression.
thread_local std::optional<std::uint64_t> claimed;

Status check_size(std::uint64_t size) {
  const std::uint64_t before = claimed.value_or(0);
  if (size > most_decompressed_bytes - before) {
    return malformed(fmt::format(
        "the compressed parts claim at least {} bytes in total; at most {} are read: extract the "
        "code object of interest",
        size > UINT64_MAX - before ? size : before + size, most_decompressed_bytes));
  }
  if (claimed) *claimed += size;
  return {};
}

}  // namespace

DecompressionBudget::DecompressionBudget() {
  claimed = 0;
}
DecompressionBudget::~DecompressionBudget() {
  claimed.reset();
}

Result<std::string> decompress_zlib(Bytes data, std::uint64_t size) {
  TRY(check_size(size));
  z_stream stream{};
  if (::inflateInit(&stream) != Z_OK) return Error{ErrorKind::exhausted, "no memory for zlib"};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &::inflateEnd);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data.text().data()));
  stream.avail_in = static_cast<unsigned>(std::min<std::uint64_t>(data.size(), UINT32_MAX));
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= size) {
    const std::size_t before = out.size();
    const std::size_t room = room_after(before, size);
    out.resize(before + room);
    stream.next_out = reinterpret_cast<unsigned char*>(out.data() + before);
    stream.avail_out = static_cast<unsigned>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    out.resize(before + room - stream.avail_out);
  }
  if (status == Z_MEM_ERROR) return no_memory("zlib");
  if (status != Z_STREAM_END || out.size() != size) return damaged("zlib");
  return out;
}

Result<std::string> decompress_zstd(Bytes data, std::uint64_t size) {
  TRY(check_size(size));
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(::ZSTD_createDStream(),
                                                                             &::ZSTD_freeDStream);
  if (!stream) return no_memory("zstd");
  ZSTD_inBuffer in = {data.text().data(), data.size(), 0};
  std::string out;
  std::size_t status = 1;  // 0: the frame is complete
  while (status != 0 && out.size() <= size) {
    const std::size_t before = out.size();
    const std::size_t room = room_after(before, size);
    out.resize(before + room);
    ZSTD_outBuffer to = {out.data() + before, room, 0};
    status = ::ZSTD_decompressStream(stream.get(), &to, &in);
    out.resize(before + to.pos);
    if (::ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation) return no_memory("zstd");
    const bool starved = status != 0 && to.pos < room && in.pos == in.size;
    if (::ZSTD_isError(status) != 0 || starved) return damaged("zstd");
  }
  if (out.size() != size) return damaged("zstd");
  return out;
}

Result<std::string> decompress_lz4(Bytes data, std::uint64_t size) {
  TRY(check_size(size));
  std::string out;
  std::uint64_t at = 0;
  const auto byte = [&]() -> Result<unsigned> {
    return unsigned{TRY(data.read<std::uint8_t>(at++, "a part compressed by LZ4"))};
  };
  // 15 in four bits means that more bytes follow, up to and including the first that is not 255.
  const auto length = [&](unsigned bits) -> Result<std::uint64_t> {
    std::uint64_t total = bits;
    for (unsigned more = bits == 15 ? 255 : 0; more == 255; total += more) more = TRY(byte());
    return total;
  };
  while (at < data.size()) {
    const unsigned token = TRY(byte());
    const std::uint64_t literals = TRY(length(token >> 4));
    out += TRY(data.part(at, literals, "a part compressed by LZ4")).text();
    at += literals;
    if (out.size() > size) return damaged("LZ4");
    if (at >= data.size()) break;  // the last sequence has only literals
    const unsigned low = TRY(byte());
    const std::uint64_t distance = low | TRY(byte()) << 8;
    const std::uint64_t matched = TRY(length(token & 15u)) + 4;
    if (distance == 0 || distance > out.size() || matched > size - out.size()) {
      return damaged("LZ4");
    }
    // Byte by byte: a match may overlap its own output.
    for (std::uint64_t i = 0; i < matched; ++i) out += out[out.size() - distance];
  }
  if (out.size() != size) return damaged("LZ4");
  return out;
}

}  // namespace assay::occupancy
