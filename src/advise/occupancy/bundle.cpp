#include "advise/occupancy/bundle.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/occupancy/decompress.h"

namespace assay::occupancy {
namespace {

constexpr std::string_view plain_magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB";

/// Reads an uncompressed bundle: magic, number of entries; for each entry offset, size, length of
/// the target's name, and the name.
Result<Bundle> read_plain(Bytes file) {
  Bundle bundle;
  const auto count = TRY(file.read<std::uint64_t>(plain_magic.size(), "the bundle's header"));
  std::uint64_t at = plain_magic.size() + 8;
  bundle.bytes = at;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto offset = TRY(file.read<std::uint64_t>(at, "a bundle's entry"));
    const auto bytes = TRY(file.read<std::uint64_t>(at + 8, "a bundle's entry"));
    const auto name_bytes = TRY(file.read<std::uint64_t>(at + 16, "a bundle's entry"));
    const Bytes name = TRY(file.part(at + 24, name_bytes, "a bundle's target name"));
    const Bytes code = TRY(file.part(offset, bytes, "a bundle's code"));
    at += 24 + name_bytes;
    total += bytes;  // limits a small file that lists the same bytes many times
    if (total > file.size()) return malformed("damaged: entries of a bundle overlap");
    bundle.bytes = std::max({bundle.bytes, at, offset + bytes});
    if (bytes > 0) bundle.entries.push_back({std::string(name.text()), std::string(code.text())});
  }
  return bundle;
}

struct CompressedHeader {
  std::uint64_t header_bytes = 0, total_bytes = 0, plain_bytes = 0;
  std::uint16_t method = 0;
};

/// The header is: magic, version, method, [total size], decompressed size, 8 bytes of a hash. Sizes
/// have 4 bytes up to version 2 and 8 in version 3; version 1 has no total size.
Result<CompressedHeader> read_header(Bytes file) {
  CompressedHeader header;
  const auto version = TRY(file.read<std::uint16_t>(4, "the compressed bundle's header"));
  header.method = TRY(file.read<std::uint16_t>(6, "the compressed bundle's header"));
  constexpr std::uint64_t hash_bytes = 8;
  switch (version) {
    case 1:
      header.total_bytes = file.size();
      header.plain_bytes = TRY(file.read<std::uint32_t>(8, "the compressed bundle's size"));
      header.header_bytes = 12 + hash_bytes;
      return header;
    case 2:
      header.total_bytes = TRY(file.read<std::uint32_t>(8, "the compressed bundle's size"));
      header.plain_bytes = TRY(file.read<std::uint32_t>(12, "the compressed bundle's size"));
      header.header_bytes = 16 + hash_bytes;
      return header;
    case 3:
      header.total_bytes = TRY(file.read<std::uint64_t>(8, "the compressed bundle's size"));
      header.plain_bytes = TRY(file.read<std::uint64_t>(16, "the compressed bundle's size"));
      header.header_bytes = 24 + hash_bytes;
      return header;
    default:
      return malformed(
          fmt::format("a compressed bundle of version {}; supported are 1, 2 and 3", version));
  }
}

Result<Bundle> read_compressed(Bytes file) {
  const CompressedHeader header = TRY(read_header(file));
  if (header.total_bytes < header.header_bytes) {
    return malformed("damaged or cut off: a compressed bundle smaller than its header");
  }
  const Bytes payload = TRY(file.part(header.header_bytes, header.total_bytes - header.header_bytes,
                                      "the compressed bundle"));
  constexpr std::uint16_t zlib = 0, zstd = 1;
  if (header.method != zlib && header.method != zstd) {
    return malformed(fmt::format(
        "a bundle compressed by method {}; supported are 0 (zlib) and 1 (zstd)", header.method));
  }
  const std::string plain =
      TRY(header.method == zlib ? decompress_zlib(payload, header.plain_bytes)
                                : decompress_zstd(payload, header.plain_bytes));
  if (!plain.starts_with(plain_magic)) {
    return malformed("the content of a compressed bundle is not a bundle");
  }
  Bundle bundle = TRY(read_plain(Bytes(plain)));
  bundle.bytes = header.total_bytes;
  return bundle;
}

}  // namespace

bool is_bundle(Bytes file) {
  return file.text().starts_with(plain_magic) || file.text().starts_with(compressed_magic);
}

Result<Bundle> read_bundle(Bytes file) {
  return file.text().starts_with(plain_magic) ? read_plain(file) : read_compressed(file);
}

}  // namespace assay::occupancy
