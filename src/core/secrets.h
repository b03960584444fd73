// Recognizes passwords, keys and tokens in names and in command-line arguments, so that they are
// not shown or stored. Arguments can have any form, so this knows only the common ones. Facts of a
// machine are instead restricted to a list of known settings
// (machine/system/recordable_settings.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Returns whether a name suggests a token, key or password: "HF_TOKEN", "--api-key", "wifi.psk".
bool is_secret_name(std::string_view name);

/// Returns command-line arguments with secrets replaced by "(set)". Secrets are what follows a
/// secret name ("--token", "API_KEY=", "\"password\":", "Authorization:", "Cookie:"), "Bearer", or
/// a password option of a known program ("sshpass -p", "curl -u name:"). They are also
/// "user:password@" in front of a host, the query of a URL, and tokens of known forms
/// (token_shapes.h). A number of tokens that an option asks for ("--max-tokens 100") is no secret.
std::vector<std::string> hide_secrets(std::span<const std::string> words);

/// Returns one text, such as a URL, a header or a line that a program printed, with secrets
/// replaced in the same way.
std::string hide_secrets_in(std::string_view text);

/// Returns the value of a variable or option: "(set)" if its name is secret and it is not a number
/// of tokens, else as hide_secrets_in().
std::string hide_secret_value(std::string_view name, std::string_view value);

}  // namespace assay
