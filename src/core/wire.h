// Protobuf's wire format by hand: fields of a message, one after the other. Reading has bounds; the
// bytes are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace assay {

/// One field of a message. The sender's schema says which of the values it has and how its bits are
/// encoded; the other value is 0 or empty.
struct WireField {
  std::uint32_t number = 0;
  std::uint64_t integer = 0;  ///< the bits of a varint or of a field of 4 or 8 bytes
  std::string_view bytes;     ///< a text, a nested message or a packed array
};

/// Reads the fields of a message. `bytes` must outlive the reader and the fields, which refer to
/// it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  /// Reads the next field. Returns false at the end of the message, and where it is damaged or has
  /// a group, which is obsolete; is_damaged() tells.
  bool next(WireField& field) {
    std::uint64_t key = 0;
    if (rest_.empty() || !varint(key)) return false;
    field.number = static_cast<std::uint32_t>(key >> 3);
    field.integer = 0;
    field.bytes = {};
    switch (key & 7) {
      case 0:
        return varint(field.integer);
      case 1:
        return fixed(field.integer, 8);
      case 2: {
        std::uint64_t size = 0;
        if (!varint(size) || size > rest_.size()) return damaged();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
      case 5:
        return fixed(field.integer, 4);
      default:
        return damaged();
    }
  }
  /// Returns how many bytes have not been read; 0 if the message is damaged.
  std::size_t left() const { return rest_.size(); }
  /// Returns whether reading stopped before the end of the message.
  bool is_damaged() const { return damaged_; }

 private:
  bool damaged() {
    damaged_ = true;
    rest_ = {};
    return false;
  }
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return true;
    }
    return damaged();
  }
  bool fixed(std::uint64_t& value, std::size_t size) {
    if (rest_.size() < size) return damaged();
    std::memcpy(&value, rest_.data(), size);  // little-endian, as this machine
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

/// Appends fields to the message `bytes`, which must outlive the writer.
class WireWriter {
 public:
  explicit WireWriter(std::string& bytes) : bytes_(bytes) {}

  /// Appends a varint.
  void integer(std::uint32_t number, std::uint64_t value) {
    varint(std::uint64_t{number} << 3);
    varint(value);
  }
  /// Appends a field of 8 bytes.
  void fixed(std::uint32_t number, std::uint64_t value) {
    varint(std::uint64_t{number} << 3 | 1);
    char eight[8];
    std::memcpy(eight, &value, sizeof eight);
    bytes_.append(eight, sizeof eight);
  }
  /// Appends a double as a field of 8 bytes.
  void real(std::uint32_t number, double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    fixed(number, bits);
  }
  /// Appends a text or a nested message.
  void bytes(std::uint32_t number, std::string_view value) {
    varint(std::uint64_t{number} << 3 | 2);
    varint(value.size());
    bytes_.append(value);
  }

 private:
  void varint(std::uint64_t value) {
    char all[10];
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) all[size++] = static_cast<char>(value | 0x80);
    all[size++] = static_cast<char>(value);
    bytes_.append(all, size);
  }

  std::string& bytes_;
};

}  // namespace assay
