// Words on the command line that name the environments of a campaign: host, docker:IMAGE,
// podman:IMAGE, apptainer:IMAGE, bubblewrap or bubblewrap:FOLDER, ssh:TARGET, vm:TARGET (by ssh,
// too) and partition:INDEX.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::cli {

/// Returns what such words begin with, separated by spaces, for completion: "host docker: ...".
std::string environment_words();

struct EnvironmentWord {
  std::string kind;      ///< "docker"
  std::string settings;  ///< for a plan: "kind: container, engine: docker, image: ubuntu"
};
/// Error: usage, naming the word and what is allowed.
Result<EnvironmentWord> read_environment_word(const std::string& word);

/// Returns `name`, an EnvironmentWord::kind, if it is new, else with a number: "docker-2". `uses`
/// counts how often each name was asked for; begin with an empty map.
std::string unique_name(const std::string& name, std::map<std::string, int>& uses);

/// Returns a name for a campaign's folder: the first 100 bytes of `text`, with '-' for each byte
/// that is no ASCII letter, digit, '.' or '_'.
std::string plain_name(std::string_view text);

}  // namespace assay::cli
