// Words on the command line that name the environments of a campaign: host, docker:IMAGE,
// vm:TARGET.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::cli {

/// Returns what such words begin with, with spaces between them, for completion.
std::string environment_words();

struct EnvironmentWord {
  std::string kind;      ///< "docker"
  std::string settings;  ///< for a plan: "kind: container, engine: docker, image: ubuntu"
};
/// Error: usage, naming the word and what is allowed.
Result<EnvironmentWord> read_environment_word(const std::string& word);

/// Returns `name` if it is new, else with a number: "docker-2". `uses` counts how often each name
/// was asked for; begin with an empty map.
std::string unique_name(const std::string& name, std::map<std::string, int>& uses);

/// The text with '-' for what is not a letter, a digit, '.' or '_', and not longer than 100: a name
/// for a campaign's folder.
std::string plain_name(std::string_view text);

}  // namespace assay::cli
