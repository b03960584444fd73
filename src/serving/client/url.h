// Says where a server is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

struct Url {
  bool tls = false;
  std::string host;  ///< a name or an address; IPv6 without brackets
  std::uint16_t port = 0;
  std::string path;  ///< prefix of every endpoint's path: "" or "/base"; / and /v1 at its end are
                     ///< dropped
};

/// Parses "http://host:8000", "https://host/base" or "host:8000"; the default port is 80 or 443.
/// Error: usage, quoting the text without a login.
Result<Url> parse_url(std::string_view text);

/// Returns the servers of "http://a:8000,http://b:8000" or "http://a:8000-8007" (eight of them, of
/// at most 256). Error: usage, quoting the URL without a login.
Result<std::vector<Url>> parse_urls(std::string_view text);

/// Returns the URL as text: "http://host:8000/base".
std::string text_of(const Url& url);

/// Returns the value of the HTTP header Host: "host:8000".
std::string authority_of(const Url& url);

}  // namespace assay
