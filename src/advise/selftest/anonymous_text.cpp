#include "advise/selftest/anonymous_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "core/regex.h"
#include "core/secrets.h"
#include "core/shown_text.h"

namespace assay::selftest {
namespace {

constexpr std::size_t most_bytes = 500;

/// What is hidden wherever it occurs, in PCRE's syntax.
constexpr std::array hidden_forms = {
    R"([A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+)",                  // addresses of servers
    R"([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+)",                      // people, user@host
    R"([0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})",  // UUIDs
    R"((?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[:-]){5,}[0-9A-Fa-f]{2}(?![0-9A-Za-z]))",  // Ethernet, IB
    R"((?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{0,4}:){3,7}[0-9A-Fa-f]{0,4}(?![0-9A-Za-z:]))",    // IPv6,
                                                                                         // GUIDs
    R"((?<![0-9A-Za-z])[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])",          // PCI
    R"((?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9.]))",                             // IPv4
    R"((?<![0-9A-Za-z_])(?:0x)?(?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{10,}(?![0-9A-Za-z_]))",  // serials
    R"((?i)(?<=serial[ :=#])[ :=#]*[^\s,;]+)",
};

/// An absolute path, or one from the home folder, also one behind an option's letters: "-I/opt/x".
constexpr const char* path_form =
    R"((?:(?<![\w.)])|(?<!\w)-[A-Za-z]+\K)~?/(?:[^\s/:"'`,;()\[\]<>|]+/)*[^\s/:"'`,;()\[\]<>|]+/?)";

/// The end of a path that says what a file is, and nothing about whose.
constexpr const char* telling_end = R"([A-Za-z0-9_+-]+\.(?:so[0-9.]*|cu|cpp|h|json|dat)$)";

/// `replace(match)` for each match.
template <typename Replace>
std::string replaced(const std::string& text, const char* form, const Replace& replace) {
  const auto pattern = Pattern::compile_unicode(form);
  if (!pattern.ok()) return "(hidden)";
  std::string result;
  std::size_t at = 0;
  while (const auto span = pattern->next(text, at)) {
    if (span->end == span->begin) break;
    result += text.substr(at, span->begin - at);
    result += replace(text.substr(span->begin, span->end - span->begin));
    at = span->end;
  }
  return result + text.substr(at);
}

std::string without_path(const std::string& path) {
  const auto pattern = Pattern::compile_unicode(telling_end);
  const auto end = pattern.ok() ? pattern->next(path, path.rfind('/') + 1) : std::nullopt;
  return end ? "(path)/" + path.substr(end->begin) : "(path)";
}

/// This machine's host name, also without its domain, and the user's name.
std::vector<std::string> own_names() {
  std::vector<std::string> names;
  std::array<char, 256> host = {};
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    names.emplace_back(host.data());
    names.push_back(names.back().substr(0, names.back().find('.')));
  }
  for (const char* variable : {"HOSTNAME", "USER", "LOGNAME", "SUDO_USER"}) {
    if (const char* value = std::getenv(variable)) names.emplace_back(value);
  }
  if (const passwd* user = ::getpwuid(::geteuid())) names.emplace_back(user->pw_name);
  // These occur in other words, and identify nobody.
  std::erase_if(names, [](const std::string& name) {
    return name.size() < 3 || name == "root" || name == "user" || name == "localhost";
  });
  return names;
}

/// Hides secrets in words, as those of a command line, and within words.
std::string without_secrets(const std::string& line) {
  std::vector<std::string> words(1);
  for (const char letter : line) {
    if (letter == ' ') {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return hide_secrets_in(fmt::format("{}", fmt::join(hide_secrets(words), " ")));
}

}  // namespace

std::string anonymous_text(std::string_view text) {
  const auto hide = [](const std::string&) { return std::string("(hidden)"); };
  std::string result = without_secrets(shown_line(text, 8 * most_bytes));
  for (const std::string& name : own_names()) {
    for (std::size_t at = 0; (at = result.find(name, at)) != std::string::npos;) {
      result.replace(at, name.size(), "(hidden)");
      at += std::string_view("(hidden)").size();
    }
  }
  for (const char* form : hidden_forms) result = replaced(result, form, hide);
  result = replaced(result, path_form, without_path);
  return shown_line(result, most_bytes);
}

}  // namespace assay::selftest
