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

/// Returns command-line arguments with secrets replaced by "(set)": what follows "--token",
/// "API_KEY=", "Bearer", "Authorization:", "Cookie:", "sshpass -p", "curl -u name:" and
/// "\"password\":", "user:password@" in front of a host, the query of a URL, and tokens of known
/// forms (token_shapes.h). A number of tokens that an option asks for is no secret.
std::vector<std::string> hide_secrets(std::span<const std::string> words);

/// Hides secrets in one text: a URL, a header, a line that a program printed.
std::string hide_secrets_in(std::string_view text);

/// Hides the value of a variable or option of this name if it is a secret.
std::string hide_secret_value(std::string_view name, std::string_view value);

}  // namespace assay
