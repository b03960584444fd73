// Recognizes passwords, keys and tokens in names and in the words of a command, so that they are
// not shown or stored. A command has words of any kind, so this can only know the usual forms;
// facts of a machine are held to a list of known settings instead
// (machine/system/recordable_settings.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Names that suggest a token, key or password: "HF_TOKEN", "--api-key", "wifi.psk".
bool is_secret_name(std::string_view name);

/// The words of a command, with "(set)" for what follows "--token", "API_KEY=", "Bearer",
/// "Authorization:", "Cookie:", "sshpass -p", "curl -u name:" and "\"password\":", for
/// "user:password@" in front of a host, for the query of a URL, and for tokens of known forms
/// (token_shapes.h). How many tokens an option asks for is no secret.
std::vector<std::string> hide_secrets(std::span<const std::string> words);

/// The same for one text: a URL, a header, a line that a program printed.
std::string hide_secrets_in(std::string_view text);

/// The same for the value of a variable or option of this name.
std::string hide_secret_value(std::string_view name, std::string_view value);

}  // namespace assay
