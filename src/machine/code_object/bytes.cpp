#include "machine/code_object/bytes.h"

#include <fmt/format.h>

namespace assay::occupancy {

Error malformed(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

Result<Bytes> Bytes::part(std::uint64_t offset, std::uint64_t bytes, std::string_view what) const {
  if (offset > size() || bytes > size() - offset) {
    return malformed(fmt::format("damaged or cut off: {} needs {} bytes at {} of {}", what, bytes,
                                 offset, size()));
  }
  return Bytes(text_.substr(offset, bytes));
}

Result<Bytes> Bytes::from(std::uint64_t offset, std::string_view what) const {
  return part(offset, offset > size() ? 0 : size() - offset, what);
}

Result<std::string_view> Bytes::c_string(std::uint64_t offset, std::string_view what) const {
  const std::string_view rest = TRY(from(offset, what)).text();
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    return malformed(fmt::format("damaged or cut off: {} at {} does not end", what, offset));
  }
  return rest.substr(0, end);
}

}  // namespace assay::occupancy
