#include "results/import/plain_text.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/text.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

constexpr std::size_t at_once = std::size_t{1} << 18;

Error wrong(std::string_view name, std::string_view what) {
  return {ErrorKind::usage, fmt::format("{}: {}", name, what)};
}

Error damaged(std::string_view name, std::string_view method) {
  return wrong(name, fmt::format("it is damaged or cut off: it is compressed by {}", method));
}

Error too_long(std::string_view name, std::size_t most) {
  return wrong(name, fmt::format("decompressed, it holds more than {} MiB", most >> 20));
}

/// A file may consist of several compressed parts, one after the other.
Result<std::string> from_gzip(std::string_view bytes, std::string_view name, std::size_t most) {
  z_stream stream{};
  constexpr int gzip_only = 15 + 16;
  if (::inflateInit2(&stream, gzip_only) != Z_OK) {
    return Error{ErrorKind::exhausted, "no memory for zlib"};
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &::inflateEnd);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), UINT32_MAX));
  std::string text, part(at_once, '\0');
  for (;;) {
    stream.next_out = reinterpret_cast<unsigned char*>(part.data());
    stream.avail_out = static_cast<unsigned>(at_once);
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    text.append(part, 0, at_once - stream.avail_out);
    if (text.size() > most) return too_long(name, most);
    if (status == Z_STREAM_END) {
      const bool more = stream.avail_in > 1 && stream.next_in[0] == 0x1f;
      if (!more) return text;
      if (::inflateReset(&stream) != Z_OK) return damaged(name, "gzip");
    } else if (status != Z_OK || (stream.avail_in == 0 && stream.avail_out > 0)) {
      return damaged(name, "gzip");
    }
  }
}

Result<std::string> from_zstd(std::string_view bytes, std::string_view name, std::size_t most) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(::ZSTD_createDStream(),
                                                                             &::ZSTD_freeDStream);
  if (!stream) return Error{ErrorKind::exhausted, "no memory for zstd"};
  ZSTD_inBuffer in = {bytes.data(), bytes.size(), 0};
  std::string text, part(at_once, '\0');
  for (std::size_t status = 1; in.pos < in.size || status != 0;) {
    ZSTD_outBuffer out = {part.data(), at_once, 0};
    status = ::ZSTD_decompressStream(stream.get(), &out, &in);
    text.append(part, 0, out.pos);
    if (::ZSTD_isError(status) != 0) return damaged(name, "zstd");
    if (text.size() > most) return too_long(name, most);
    if (status != 0 && in.pos == in.size && out.pos < at_once) return damaged(name, "zstd");
  }
  return text;
}

void append_utf8(std::string& text, std::uint32_t point) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xe0 | point >> 12);
    } else {
      put(0xf0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3f));
    }
    put(0x80 | (point >> 6 & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

/// `high`: which of two bytes is the higher one, 0 or 1. Halves of characters become U+FFFD.
std::string from_utf16(std::string_view bytes, std::size_t high) {
  constexpr std::uint32_t replacement = 0xfffd;
  const auto unit = [&](std::size_t at) {
    const auto byte = [&](std::size_t i) {
      return std::uint32_t{static_cast<unsigned char>(bytes[at + i])};
    };
    return byte(high) << 8 | byte(1 - high);
  };
  std::string text;
  text.reserve(bytes.size() / 2);
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    std::uint32_t point = unit(at);
    const bool first = point >= 0xd800 && point < 0xdc00;
    const std::uint32_t next = first && at + 3 < bytes.size() ? unit(at + 2) : 0;
    if (next >= 0xdc00 && next < 0xe000) {
      point = 0x10000 + ((point - 0xd800) << 10 | (next - 0xdc00));
      at += 2;
    } else if (point >= 0xd800 && point < 0xe000) {
      point = replacement;
    }
    append_utf8(text, point);
  }
  return text;
}

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Whether `text` begins with letters of this shape, where d is a digit and every other letter is
/// itself.
bool has_shape(std::string_view text, std::string_view shape) {
  if (text.size() < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 'd' ? !is_digit(text[i]) : text[i] != shape[i]) return false;
  }
  return true;
}

/// The length of a time at the start of a line, with the white space after it; 0 if there is none.
std::size_t time_prefix(std::string_view line) {
  const bool bracket = line.starts_with('[');
  std::size_t at = bracket ? 1 : 0;
  if (has_shape(line.substr(at), "dddd-dd-dd") && at + 10 < line.size() &&
      (line[at + 10] == 'T' || line[at + 10] == ' ')) {
    at += 11;
  }
  if (!has_shape(line.substr(at), "dd:dd:dd")) return 0;
  at += 8;
  if (at + 1 < line.size() && (line[at] == '.' || line[at] == ',') && is_digit(line[at + 1])) {
    for (++at; at < line.size() && is_digit(line[at]);) ++at;
  }
  if (at < line.size() && line[at] == 'Z') {
    ++at;
  } else if (has_shape(line.substr(at), "+dd:dd") || has_shape(line.substr(at), "-dd:dd")) {
    at += 6;
  }
  if (bracket && (at == line.size() || line[at++] != ']')) return 0;
  if (at < line.size() && line[at] != ' ' && line[at] != '\t') return 0;
  return std::min(at + 1, line.size());
}

/// The length of "> ", as mail and Markdown quote.
std::size_t quote_prefix(std::string_view line) {
  if (!line.starts_with('>')) return 0;
  return line.size() > 1 && line[1] == ' ' ? 2 : 1;
}

/// The length of "host: ", as pdsh and clush write it.
std::size_t host_prefix(std::string_view line) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const std::size_t end = line.find_first_not_of(letters);
  if (end == 0 || end == std::string_view::npos || line[end] != ':') return 0;
  if (end + 1 == line.size()) return end + 1;
  return line[end + 1] == ' ' ? end + 2 : 0;
}

struct Prefix {
  std::size_t (*length)(std::string_view line);
  bool same;  ///< it must be the same one in all lines
};

constexpr Prefix prefixes[] = {{&quote_prefix, false}, {&host_prefix, true}, {&time_prefix, false}};

/// The text of the prefix that at least nine of ten lines have, blank ones aside; nullopt if there
/// is none. Empty if lines have different ones.
std::optional<std::string_view> common_prefix(std::string_view text, const Prefix& prefix) {
  const auto each = [&](const auto& visit) {
    LineReader reader(text);
    TextLine line;
    while (reader.next(line)) {
      if (!trim(line.text).empty()) visit(line.text.substr(0, prefix.length(line.text)));
    }
  };
  // If most lines have the same prefix, it is what is left after pairs of different ones.
  std::string_view candidate;
  std::size_t left = 0, lines = 0, prefixed = 0;
  each([&](std::string_view found) {
    ++lines;
    found = prefix.same ? trim(found) : found.substr(0, 0);
    if (left == 0) candidate = found;
    if (found == candidate) {
      ++left;
    } else {
      --left;
    }
  });
  each([&](std::string_view found) {
    if (!found.empty() && (!prefix.same || trim(found) == candidate)) ++prefixed;
  });
  constexpr std::size_t fewest_lines = 3;
  if (lines < fewest_lines || prefixed * 10 < lines * 9) return std::nullopt;
  return candidate;
}

}  // namespace

Result<std::string> plain_text(std::string bytes, std::string_view name, std::size_t most) {
  if (bytes.starts_with("\x1f\x8b")) {
    bytes = TRY(from_gzip(bytes, name, most));
  } else if (bytes.starts_with("\x28\xb5\x2f\xfd")) {
    bytes = TRY(from_zstd(bytes, name, most));
  }
  const std::string_view text = bytes;
  if (text.starts_with("\xff\xfe")) return from_utf16(text.substr(2), 1);
  if (text.starts_with("\xfe\xff")) return from_utf16(text.substr(2), 0);
  return bytes;
}

std::string_view without_line_prefixes(std::string_view text, std::string& buffer) {
  constexpr std::size_t seen = std::size_t{1} << 20;  // bytes that decide for all
  for (const Prefix& prefix : prefixes) {
    const auto common = common_prefix(text.substr(0, seen), prefix);
    if (!common) continue;
    std::string stripped;
    stripped.reserve(text.size());
    LineReader reader(text);
    TextLine line;
    while (reader.next(line)) {
      const std::size_t length = prefix.length(line.text);
      const bool it = !prefix.same || trim(line.text.substr(0, length)) == *common;
      stripped.append(line.text.substr(it ? length : 0)).append("\n");
    }
    buffer = std::move(stripped);
    text = buffer;
  }
  return text;
}

}  // namespace assay
