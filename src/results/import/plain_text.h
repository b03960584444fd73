// A file's bytes as the text that importers read: decompressed, in UTF-8, and without what a
// launcher or a logger wrote before every line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// The text of `bytes`, which may be compressed with gzip or zstd and in UTF-16. Error: usage,
/// "NAME: ...": damaged, or more than `most` bytes of text.
Result<std::string> plain_text(std::string bytes, std::string_view name, std::size_t most);

/// The text without the prefix that nearly all of its lines have: "> ", one host's name and a
/// colon, or a time ("2026-01-02T03:04:05.678Z ", "[03:04:05] "). Its lines keep their numbers.
/// Returns `text` itself if there is none, else `buffer`.
std::string_view without_line_prefixes(std::string_view text, std::string& buffer);

}  // namespace assay
