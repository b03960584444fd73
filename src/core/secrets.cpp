#include "core/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/text.h"
#include "core/token_shapes.h"

namespace assay {
namespace {

constexpr std::string_view hidden = "(set)";
constexpr std::string_view blanks = " \t\r\n";

/// Marks match anywhere in a name, words only as whole words: "iommu.passthrough" is not a "PASS".
constexpr std::array<std::string_view, 13> secret_marks = {
    "TOKEN",      "SECRET",  "PASSWORD",   "PASSWD",    "PASSPHRASE",    "APIKEY", "ACCESSKEY",
    "PRIVATEKEY", "PRIVKEY", "CREDENTIAL", "SIGNATURE", "AUTHORIZATION", "BEARER"};
constexpr std::array<std::string_view, 16> secret_words = {
    "PASS", "PWD", "PW",  "AUTH",  "KEY",  "KEYS",   "COOKIE", "PSK",
    "JWT",  "PAT", "SIG", "CREDS", "CRED", "APIKEY", "PRIV",   "HMAC"};
/// What stands in a header between "Authorization:" and the secret.
constexpr std::array<std::string_view, 8> schemes = {"BEARER", "BASIC",     "TOKEN", "APIKEY",
                                                     "KEY",    "NEGOTIATE", "NTLM",  "DIGEST"};
/// Programs, and "docker login", of which a short option is a password.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> short_options = {
    {{"sshpass", "-p"},
     {"login", "-p"},
     {"mysql", "-p"},
     {"mysqldump", "-p"},
     {"mysqladmin", "-p"},
     {"mariadb", "-p"},
     {"redis-cli", "-a"}}};
constexpr std::array<std::string_view, 4> login_options = {"-u", "--user", "-U", "--proxy-user"};

char upper(char letter) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
}

std::string in_capitals(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), upper);
  return all;
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

/// Returns whether a list continues at `at` with another "name=" or "name:".
bool is_next_name(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_name_letter(text[at])) ++at;
  while (at > begin && at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  return at > begin && at < text.size() && (text[at] == '=' || text[at] == ':');
}

/// Returns where the value that begins at `begin` ends: at its closing quote, at a space, or at a
/// separator that the rest of the value does not follow.
std::size_t value_end(std::string_view text, std::size_t begin) {
  if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) {
    for (std::size_t at = begin + 1; at < text.size(); ++at) {
      if (text[at] == '\\') {
        ++at;
      } else if (text[at] == text[begin]) {
        return at + 1;
      }
    }
    return text.size();
  }
  for (std::size_t at = begin; at < text.size(); ++at) {
    constexpr std::string_view always = " \t\r\n\"'", separators = ",;&}";
    if (always.find(text[at]) != std::string_view::npos) return at;
    if (separators.find(text[at]) == std::string_view::npos) continue;
    const bool last = at + 1 == text.size() ||
                      always.find(text[at + 1]) != std::string_view::npos ||
                      separators.find(text[at + 1]) != std::string_view::npos;
    if (last || is_next_name(text, at + 1)) return at;
  }
  return text.size();
}

/// Whether the whole rest of a header of this name is the secret.
bool is_secret_header(std::string_view name) {
  const std::string all = in_capitals(name);
  return all.find("AUTHORIZATION") != std::string::npos || all.ends_with("COOKIE");
}

/// Behind "Bearer " and its like at `begin`.
std::size_t behind_scheme(std::string_view text, std::size_t begin) {
  const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
  const std::string word = in_capitals(text.substr(begin, std::min<std::size_t>(end - begin, 16)));
  const bool scheme = std::ranges::find(schemes, word) != schemes.end();
  return scheme && end < text.size() && text[end] == ' ' ? end + 1 : begin;
}

/// Returns true for values like that of "--max-num-batched-tokens", which is a number of tokens.
bool is_count(std::string_view name, std::string_view value) {
  return in_capitals(name).find("TOKENS") != std::string::npos && is_digits(value);
}

/// Hides the value of "NAME=value", "name: value" and "\"name\":\"value\"" if the name is secret. A
/// header's value may be several words: "Authorization: Bearer x".
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
    begin = behind_scheme(text, begin);
    const bool quoted = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
    const std::size_t end = letter == ':' && !quoted && is_secret_header(name)
                                ? std::min(text.find_first_of("\r\n\"'", begin), text.size())
                                : value_end(text, begin);
    if (end == begin || is_count(name, text.substr(begin, end - begin))) continue;
    kept += text.substr(at, begin - at);
    kept += hidden;
    at = end;
  }
  return kept;
}

/// Returns "Bearer x" without the x.
std::string without_bearer(std::string_view text) {
  constexpr std::string_view word = "BEARER ";
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    if (upper(text[at]) != word[0] || in_capitals(text.substr(at, word.size())) != word) {
      kept += text[at++];
      continue;
    }
    kept += text.substr(at, word.size());
    const std::size_t end = value_end(text, at + word.size());
    if (end > at + word.size()) kept += hidden;
    at = end;
  }
  return kept;
}

/// "name:pass" of "name:pass/word@host": what follows a host's ':' would be a port.
bool is_login_before_slash(std::string_view authority) {
  if (authority.starts_with('[')) return false;  // an IPv6 address
  const std::size_t colon = authority.find(':');
  return colon != std::string_view::npos && colon + 1 < authority.size() &&
         !is_digits(authority.substr(colon + 1));
}

/// Returns "scheme://user:password@host/path?query" without user, password and query.
std::string without_credentials(std::string_view text) {
  constexpr std::size_t none = std::string_view::npos;
  std::string kept;
  // A word is searched once, however many addresses it holds.
  std::size_t done = 0, word_end = 0, last_sign = none, query = none;
  for (std::size_t at = text.find("://"); at != none;
       at = text.find("://", std::max(at + 3, done))) {
    const std::size_t begin = at + 3;
    if (begin >= word_end) {
      word_end = std::min(text.find_first_of(" \t\r\n\"'", begin), text.size());
      const std::string_view word = text.substr(begin, word_end - begin);
      last_sign = word.find('@') == none ? none : begin + word.rfind('@');
      query = word.find('?') == none ? none : begin + word.find('?');
    }
    const std::string_view word = text.substr(begin, word_end - begin);
    const std::string_view authority = word.substr(0, word.find_first_of("/?"));
    std::size_t host = begin;
    if (const std::size_t sign = authority.rfind('@'); sign != none) {
      host = begin + sign;
    } else if (last_sign != none && last_sign > begin && is_login_before_slash(authority)) {
      host = last_sign;
    }
    kept += text.substr(done, begin - done);
    if (host > begin) kept += hidden;
    done = host;
    if (query != none && query < host) query = text.substr(0, word_end).find('?', host);
    if (query == none) continue;
    kept += text.substr(done, query + 1 - done);
    if (query + 1 < word_end) kept += hidden;
    done = word_end;
  }
  return kept + std::string(text.substr(done));
}

/// Hides "user:password@host" without a scheme; an image's "name:tag@sha256:..." is not a login.
std::string without_login(std::string_view text) {
  constexpr std::string_view ends = " \t\r\n/\"'=,";
  std::string kept;
  std::size_t begin = 0;  // begin of the word in `kept`
  bool has_colon = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (ends.find(text[at]) != std::string_view::npos) {
      begin = kept.size() + 1;
      has_colon = false;
    } else if (text[at] == ':') {
      has_colon = true;
    } else if (text[at] == '@' && has_colon && !text.substr(at + 1).starts_with("sha256:")) {
      kept.replace(begin, std::string::npos, hidden);
      has_colon = false;
    }
    kept += text[at];
  }
  return kept;
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word.front() == '-';
}

/// "-Hunter2" behind "--password": neither "-p" nor "--port".
bool may_be_value(std::string_view word) {
  return word.size() > 2 && word.front() == '-' && word[1] != '-';
}

/// "user:password" as "user:(set)"; "1000:1000" is two numbers, "host:80" a port.
std::string without_password(std::string_view word) {
  const std::size_t colon = word.find(':');
  const bool login = colon != std::string_view::npos && colon > 0 && colon + 1 < word.size() &&
                     std::ranges::all_of(word.substr(0, colon),
                                         [](char c) { return is_name_letter(c) || c == '@'; }) &&
                     !is_digits(word.substr(colon + 1)) && !word.substr(colon).starts_with("://");
  if (!login) return hide_secrets_in(word);
  return std::string(word.substr(0, colon + 1)) + std::string(hidden);
}

/// "sh -c": what follows is a program's text and not one value.
bool takes_script(std::string_view option) {
  return option.size() > 1 && option[1] != '-' && option.back() == 'c';
}

/// One word: unlike in a text, nothing but its value follows "NAME=".
std::string without_secrets(std::string_view word) {
  std::string kept;
  for (;;) {  // "--env=NAME=value"
    const std::size_t sign = word.find('=');
    const std::string_view name = word.substr(0, std::min(sign, word.size()));
    const bool named =
        sign != std::string_view::npos && sign > 0 && std::ranges::all_of(name, is_name_letter);
    if (!named) return kept + hide_secrets_in(word);
    const std::string_view value = word.substr(sign + 1);
    kept += word.substr(0, sign + 1);
    if (std::ranges::find(login_options, name) != login_options.end()) {
      return kept + without_password(value);
    }
    if (is_secret_name(name)) {
      const bool shown = value.empty() || is_count(name, value);
      return kept + std::string(shown ? value : hidden);
    }
    word = value;
  }
}

/// The short option by which this program takes a password; empty: it has none.
std::string_view password_option_of(std::string_view program) {
  program.remove_prefix(program.rfind('/') + 1);
  const auto at = std::ranges::find(short_options, program,
                                    &std::pair<std::string_view, std::string_view>::first);
  return at == short_options.end() ? std::string_view() : at->second;
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
  return without_known_tokens(
      without_login(without_bearer(without_named(without_credentials(text)))), hidden);
}

std::string hide_secret_value(std::string_view name, std::string_view value) {
  const bool secret = is_secret_name(name) && !is_count(name, value);
  return secret ? std::string(hidden) : hide_secrets_in(value);
}

std::vector<std::string> hide_secrets(std::span<const std::string> words) {
  std::vector<std::string> kept;
  std::string_view option_before;    // the option whose value comes next
  std::string_view password_option;  // that of the program before, as long as options follow it
  for (const std::string& word : words) {
    const bool option = is_option(word);
    const bool after_login = std::ranges::find(login_options, option_before) != login_options.end();
    if (!option_before.empty() && option_before == password_option && !option) {
      kept.emplace_back(hidden);
    } else if (!option_before.empty() && is_secret_name(option_before) &&
               !is_count(option_before, word) && (!option || may_be_value(word))) {
      kept.emplace_back(hidden);
    } else if (!password_option.empty() && word.size() > 2 && word.starts_with(password_option)) {
      kept.push_back(std::string(password_option) + std::string(hidden));
    } else if (after_login && !option) {
      kept.push_back(without_password(word));
    } else {
      kept.push_back(takes_script(option_before) ? hide_secrets_in(word) : without_secrets(word));
    }
    const bool has_value = option && word.find('=') == std::string::npos;
    const bool was_value = !option_before.empty() && !option;
    option_before = has_value ? std::string_view(word) : std::string_view();
    if (const std::string_view of_program = password_option_of(word); !of_program.empty()) {
      password_option = of_program;
    } else if (!option && !was_value) {
      password_option = {};
    }
  }
  return kept;
}

}  // namespace assay
