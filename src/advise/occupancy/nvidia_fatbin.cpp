#include "advise/occupancy/nvidia_fatbin.h"

#include <fmt/format.h>

#include "advise/occupancy/decompress.h"

namespace assay::occupancy {
namespace {

// NVIDIA does not document the format; this was derived from files of nvcc 13.0 and agrees with
// what others found (docs/occupancy.md).
constexpr std::string_view magic = "\x50\xed\x55\xba";
constexpr std::uint16_t kind_ptx = 1, kind_cubin = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000;

struct EntryHeader {
  std::uint16_t kind = 0;
  std::uint32_t header_bytes = 0, compressed_bytes = 0;
  std::uint64_t padded_bytes = 0, flags = 0, plain_bytes = 0;
};

Result<EntryHeader> read_header(Bytes file, std::uint64_t at) {
  constexpr std::string_view what = "the header of a fat binary's entry";
  const Bytes header = TRY(file.part(at, 64, what));
  return EntryHeader{
      TRY(header.read<std::uint16_t>(0, what)),  TRY(header.read<std::uint32_t>(4, what)),
      TRY(header.read<std::uint32_t>(16, what)), TRY(header.read<std::uint64_t>(8, what)),
      TRY(header.read<std::uint64_t>(40, what)), TRY(header.read<std::uint64_t>(56, what))};
}

Result<std::string> read_code(const EntryHeader& header, Bytes payload) {
  if ((header.flags & (flag_lz4 | flag_zstd)) == 0) return std::string(payload.text());
  const Bytes data = TRY(payload.part(0, header.compressed_bytes, "a compressed entry"));
  return (header.flags & flag_zstd) != 0 ? decompress_zstd(data, header.plain_bytes)
                                         : decompress_lz4(data, header.plain_bytes);
}

}  // namespace

bool is_nvidia_fatbin(Bytes file) {
  return file.text().starts_with(magic);
}

Result<Fatbin> read_nvidia_fatbin(Bytes file) {
  constexpr std::string_view what = "the fat binary";
  const auto header_bytes = TRY(file.read<std::uint16_t>(6, what));
  const auto body_bytes = TRY(file.read<std::uint64_t>(8, what));
  const Bytes body = TRY(file.part(header_bytes, body_bytes, what));
  Fatbin fatbin;
  fatbin.bytes = header_bytes + body_bytes;
  for (std::uint64_t at = 0; at < body.size();) {
    const EntryHeader header = TRY(read_header(body, at));
    if (header.header_bytes < 64) return malformed("damaged or cut off: a fat binary's entry");
    const Bytes rest = TRY(body.from(at + header.header_bytes, what));
    const Bytes payload = TRY(rest.part(0, header.padded_bytes, "the code of a fat binary"));
    at += header.header_bytes + header.padded_bytes;
    if (header.kind != kind_ptx && header.kind != kind_cubin) continue;  // e.g. link-time code
    fatbin.entries.push_back({header.kind == kind_ptx, TRY(read_code(header, payload))});
  }
  return fatbin;
}

}  // namespace assay::occupancy
