#include "serving/client/url.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/secrets.h"
#include "core/units.h"

namespace assay {
namespace {

constexpr std::uint16_t http_port = 80, https_port = 443;

bool takes_part(std::string_view text, std::string_view start, std::string_view& rest) {
  if (!text.starts_with(start)) return false;
  rest = text.substr(start.size());
  return true;
}

/// Characters that would end a line of the request or cannot be part of a host.
bool is_strange(unsigned char c) {
  return c <= ' ' || c == 0x7f || c == '@' || c == '?' || c == '#' || c == '\\';
}

/// A refused URL as errors may show it: on one line, without a login, whatever characters that has.
std::string shown(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const std::size_t begin = scheme == text.npos ? 0 : scheme + 3;
  const std::size_t sign = std::min(text.rfind('@'), text.size());
  std::string kept(text);
  if (sign < text.size() && sign >= begin) kept.replace(begin, sign - begin, "(set)");
  for (char& c : kept) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return hide_secrets_in(kept);
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorKind::usage, fmt::format("\"{}\" is not a server URL: {}; expected e.g. "
                                               "http://127.0.0.1:8000",
                                               shown(text), why)};
  };
  Url url;
  std::string_view rest = text;
  if (takes_part(text, "https://", rest)) {
    url.tls = true;
  } else if (!takes_part(text, "http://", rest) && text.find("://") != text.npos) {
    return wrong("only http and https are supported");
  }
  if (std::any_of(rest.begin(), rest.end(), is_strange)) {
    return wrong("it contains a character that is not allowed");
  }
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  const std::string_view authority = rest.substr(0, slash);
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == authority.npos) return wrong("a bracket is not closed");
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (url.host.empty()) return wrong("it names no host");
  url.port = url.tls ? https_port : http_port;
  if (!port.empty()) {
    const auto number = parse_integer(port.substr(1));
    if (port[0] != ':' || !number || *number == 0 || *number > 65535) {
      return wrong("its port must be 1 to 65535");
    }
    url.port = static_cast<std::uint16_t>(*number);
  }
  return url;
}

std::string authority_of(const Url& url) {
  const bool address6 = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", address6 ? "[" : "", url.host, address6 ? "]" : "", url.port);
}

std::string text_of(const Url& url) {
  return fmt::format("http{}://{}{}", url.tls ? "s" : "", authority_of(url), url.path);
}

}  // namespace assay
