#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace assay {
namespace {

constexpr std::string_view hidden = "(set)";

/// Marks match anywhere in a name, words only as whole words: "iommu.passthrough" is not a "PASS".
constexpr std::array<std::string_view, 13> secret_marks = {
    "TOKEN",      "SECRET",  "PASSWORD",   "PASSWD",    "PASSPHRASE",    "APIKEY", "ACCESSKEY",
    "PRIVATEKEY", "PRIVKEY", "CREDENTIAL", "SIGNATURE", "AUTHORIZATION", "BEARER"};
constexpr std::array<std::string_view, 16> secret_words = {
    "PASS", "PWD", "PW",  "AUTH",  "KEY",  "KEYS",   "COOKIE", "PSK",
    "JWT",  "PAT", "SIG", "CREDS", "CRED", "APIKEY", "PRIV",   "HMAC"};

char upper(char letter) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
}

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-' ||
         letter == '.';
}

/// Returns the name that ends before `end`, skipping one closing quote.
std::string_view name_before(std::string_view text, std::size_t end) {
  if (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_name_letter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

/// Returns where the value that begins at `begin` ends: at its closing quote, or at a space or
/// separator.
std::size_t value_end(std::string_view text, std::size_t begin) {
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) {
    const std::size_t quote = text.find(text[begin], begin + 1);
    return quote == std::string_view::npos ? text.size() : quote + 1;
  }
  return std::min(text.find_first_of(" \t\n,;&\"'}", begin), text.size());
}

/// Returns true for values like that of "--max-num-batched-tokens", which is a number of tokens.
bool is_count(std::string_view name, std::string_view value) {
  std::string all;
  for (const char letter : name) all += upper(letter);
  return all.find("TOKENS") != std::string::npos && !value.empty() &&
         value.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Hides the value of "NAME=value", "name: value" and "\"name\":\"value\"" if the name is secret. A
/// header's value may be two words: "Authorization: Bearer x".
std::string without_named(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const char letter = text[at];
    kept += letter;
    ++at;
    if ((letter != '=' && letter != ':') || text.substr(at).starts_with("//")) continue;
    const std::string_view name = name_before(text, at - 1);
    if (name.empty() || !is_secret_name(name)) continue;
    std::size_t begin = at;
    while (letter == ':' && begin < text.size() && text[begin] == ' ') ++begin;
    for (const std::string_view scheme : {"Bearer ", "Basic ", "bearer ", "basic "}) {
      if (text.substr(begin).starts_with(scheme)) begin += scheme.size();
    }
    const std::size_t end = value_end(text, begin);
    if (end == begin || is_count(name, text.substr(begin, end - begin))) continue;
    kept += std::string(text.substr(at, begin - at)) + std::string(hidden);
    at = end;
  }
  return kept;
}

/// Returns "Bearer x" without the x.
std::string without_bearer(std::string text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    constexpr std::string_view word = "BEARER ";
    const bool here =
        at + word.size() < text.size() &&
        std::equal(word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                   [](char a, char b) { return a == upper(b); });
    if (!here) continue;
    const std::size_t begin = at + word.size();
    text.replace(begin, value_end(text, begin) - begin, hidden);
  }
  return text;
}

/// Returns "scheme://user:password@host/path?query" without user, password and query.
std::string without_credentials(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    const std::size_t host_end = std::min(text.find_first_of(" /?\"'", begin), text.size());
    const std::size_t sign = text.substr(begin, host_end - begin).rfind('@');
    if (sign != std::string::npos) text.replace(begin, sign, hidden);
    const std::size_t end = std::min(text.find_first_of(" \"'", begin), text.size());
    const std::size_t query = text.find('?', begin);
    if (query < end) text.replace(query + 1, end - query - 1, hidden);
  }
  return text;
}

/// Hides "user:password@host" without a scheme; an image's "name:tag@sha256:..." is not a login.
std::string without_login(std::string text) {
  for (std::size_t sign = text.find('@'); sign != std::string::npos;
       sign = text.find('@', sign + 1)) {
    const std::size_t before = text.find_last_of(" /\"'=,", sign);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::string login = text.substr(begin, sign - begin);
    if (login.find(':') == std::string::npos || text.compare(sign + 1, 7, "sha256:") == 0) continue;
    text.replace(begin, login.size(), hidden);
    sign = begin + hidden.size();
  }
  return text;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string all, word;
  bool secret_word = false;
  const auto end_word = [&] {
    secret_word = secret_word ||
                  std::find(secret_words.begin(), secret_words.end(), word) != secret_words.end();
    word.clear();
  };
  for (const char letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) {
      word += upper(letter);
      all += upper(letter);
    } else {
      end_word();
    }
  }
  end_word();
  return secret_word ||
         std::any_of(secret_marks.begin(), secret_marks.end(),
                     [&](std::string_view mark) { return all.find(mark) != std::string::npos; });
}

std::string hide_secrets_in(std::string_view text) {
  return without_login(without_bearer(without_named(without_credentials(std::string(text)))));
}

std::string hide_secret_value(std::string_view name, std::string_view value) {
  const bool secret = is_secret_name(name) && !is_count(name, value);
  return secret ? std::string(hidden) : hide_secrets_in(value);
}

std::vector<std::string> hide_secrets(std::span<const std::string> words) {
  std::vector<std::string> kept;
  std::string_view option_before;  // the option whose value comes next
  bool after_sshpass = false;
  for (const std::string& word : words) {
    const bool option = is_option(word);
    if (!option_before.empty() && !option) {
      kept.push_back(after_sshpass && option_before == "-p"
                         ? std::string(hidden)
                         : hide_secret_value(option_before, word));
    } else if (after_sshpass && word.size() > 2 && word.starts_with("-p")) {
      kept.push_back("-p" + std::string(hidden));
    } else {
      kept.push_back(hide_secrets_in(word));
    }
    option_before = option && word.find('=') == std::string::npos ? word : std::string_view();
    after_sshpass = word == "sshpass" || word.ends_with("/sshpass") || (after_sshpass && option);
  }
  return kept;
}

}  // namespace assay
