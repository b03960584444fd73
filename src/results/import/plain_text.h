// Converts a file's bytes to the text that importers read: decompressed, in UTF-8, and without
// prefixes that a launcher or a logger wrote before every line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay {

/// Returns the text of `bytes`, which may be compressed with gzip or zstd, and in UTF-16 with a
/// byte-order mark. Error: usage, "NAME: ...": damaged, or more than `most` bytes decompressed;
/// exhausted.
Result<std::string> plain_text(std::string bytes, std::string_view name, std::size_t most);

/// Returns the text without a terminal's colours and without the prefixes that at least nine of ten
/// lines of its first MiB have, if it has three: "> ", one host's name and a colon, what kubectl,
/// docker compose, Ray and
/// torchrun write ("[pod/a/b] ", "worker-1  | ", "(pid=7) ", "[default0]:"), or a time
/// ("2026-01-02T03:04:05.678Z ", "[03:04:05] "). Lines keep their numbers. The result is `text`
/// itself if nothing was removed, else a view of `buffer`.
std::string_view without_line_prefixes(std::string_view text, std::string& buffer);

}  // namespace assay
