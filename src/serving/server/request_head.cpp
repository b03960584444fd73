#include "serving/server/request_head.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <string_view>

#include "core/shown_text.h"

namespace assay::server {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t most_shown = 100;

bool is_same(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

std::string_view text_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

/// "example.org" of "example.org:80", "::1" of "[::1]:80".
std::string_view name_in(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Whether a web page cannot have a name that leads here: an address, or a name of this machine.
bool is_of_this_machine(std::string_view host) {
  const std::string name(name_in(host));
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  if (!error || is_same(name, "localhost") || name.ends_with(".localhost")) return true;
  std::array<char, 256> own = {};
  ::gethostname(own.data(), own.size() - 1);
  return own[0] != '\0' && is_same(name, std::string_view(own.data()));
}

}  // namespace

std::optional<HeadFault> fault_of(const RequestHead& head, bool here) {
  const auto shown = [](std::string_view text) { return shown_line(text, most_shown); };
  const bool old = head.version() < 11;
  if (const std::size_t codings = head.count(http::field::transfer_encoding); codings > 0) {
    const std::string_view coding = text_of(head[http::field::transfer_encoding]);
    if (old || codings > 1 || !is_same(coding, "chunked")) {
      return HeadFault{400, fmt::format("Transfer-Encoding allows \"chunked\" alone, in HTTP/1.1; "
                                        "this is \"{}\"",
                                        shown(coding))};
    }
  }
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && !old)) {
    return HeadFault{400, fmt::format("a request has one field Host; this one has {}", hosts)};
  }
  const std::string_view host = text_of(head[http::field::host]);
  if (here && hosts == 1 && !is_of_this_machine(host)) {
    return HeadFault{403, fmt::format("Host \"{}\" is no name of this machine, as where a web page "
                                      "asks; use localhost or an address",
                                      shown(host))};
  }
  const std::string_view origin = text_of(head[http::field::origin]);
  if (head.count(http::field::origin) > 0 && origin != fmt::format("http://{}", host)) {
    return HeadFault{403,
                     fmt::format("a web page of \"{}\" may not ask this server", shown(origin))};
  }
  return std::nullopt;
}

std::string path_of(const RequestHead& head) {
  std::string_view target = text_of(head.target());
  constexpr std::string_view scheme = "http://";
  if (target.starts_with(scheme)) {
    const std::size_t slash = target.find('/', scheme.size());
    target = slash == target.npos ? "/" : target.substr(slash);
  }
  return std::string(target.substr(0, target.find('?')));
}

bool is_json(const RequestHead& head) {
  std::string_view type = text_of(head[http::field::content_type]);
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return is_same(type, "application/json");
}

}  // namespace assay::server
