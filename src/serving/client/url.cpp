#include "serving/client/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/secrets.h"
#include "core/text.h"
#include "core/units.h"

namespace assay {
namespace {

constexpr std::uint64_t most_in_range = 256;
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

/// "http://host:" "8000" - "8007" "/base"
struct PortRange {
  std::string_view before, after;
  std::uint64_t first = 0, last = 0;
};

/// Empty if the URL has no such range.
std::optional<PortRange> range_of_ports(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == url.npos ? 0 : scheme + 3;
  const std::size_t end = std::min(url.find('/', begin), url.size());
  const std::size_t colon = url.substr(0, end).rfind(':');
  if (colon == url.npos || colon < begin) return std::nullopt;
  const std::string_view ports = url.substr(colon + 1, end - colon - 1);
  const std::size_t dash = ports.find('-');
  if (dash == ports.npos) return std::nullopt;
  const auto first = parse_count(ports.substr(0, dash)), last = parse_count(ports.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return PortRange{url.substr(0, colon + 1), url.substr(end), *first, *last};
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
  // OpenAI's clients are given the address of its version, to which requests here add it.
  if (url.path.ends_with("/v1")) url.path.resize(url.path.size() - 3);
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

Result<std::vector<Url>> parse_urls(std::string_view text) {
  std::vector<Url> urls;
  // A login, which is refused, may have commas: no part of it may be taken for a URL and shown.
  const bool has_login = text.find('@') != text.npos;
  for (bool more = true; more;) {
    const std::size_t comma = has_login ? text.npos : text.find(',');
    const std::string_view one = text.substr(0, comma);
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
    const auto range = range_of_ports(one);
    if (!range) {
      urls.push_back(TRY(parse_url(one)));
      continue;
    }
    if (range->last < range->first || range->last - range->first >= most_in_range) {
      return Error{ErrorKind::usage,
                   fmt::format("\"{}\" is not a range of servers; allowed: a first port and a last "
                               "one, at most {} servers, e.g. http://127.0.0.1:8000-8007",
                               shown(one), most_in_range)};
    }
    for (std::uint64_t port = range->first; port <= range->last; ++port) {
      urls.push_back(TRY(parse_url(fmt::format("{}{}{}", range->before, port, range->after))));
    }
  }
  return urls;
}

std::string authority_of(const Url& url) {
  const bool address6 = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", address6 ? "[" : "", url.host, address6 ? "]" : "", url.port);
}

std::string text_of(const Url& url) {
  return fmt::format("http{}://{}{}", url.tls ? "s" : "", authority_of(url), url.path);
}

}  // namespace assay
