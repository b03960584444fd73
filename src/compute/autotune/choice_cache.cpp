#include "compute/autotune/choice_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "compute/device/cache_folder.h"
#include "core/hash.h"

namespace assay {
namespace {

constexpr const char* file_name = "choices";

/// What a line of the file begins with: everything a choice depends on, as one word.
std::string word_of(const DeviceFacts& facts, const ChoiceKey& key) {
  const std::string parts[] = {
      facts.backend, facts.uuid,         facts.name,
      facts.arch,    facts.partition,    std::to_string(facts.multiprocessors),
      key.what,      key.implementation, key.problem};
  return hash_of_parts(parts);
}

}  // namespace

ChoiceCache ChoiceCache::of_user(const DeviceFacts& facts) {
  return ChoiceCache(facts.emulated ? "" : cache_folder());
}

std::optional<std::string> ChoiceCache::find(const DeviceFacts& facts, const ChoiceKey& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(folder_ / file_name);
  const std::string word = word_of(facts, key) + ' ';
  std::optional<std::string> found;
  for (std::string line; std::getline(file, line);) {  // a later line overrides
    if (line.starts_with(word)) found = line.substr(word.size());
  }
  return found;
}

void ChoiceCache::keep(const DeviceFacts& facts, const ChoiceKey& key,
                       std::string_view choice) const {
  if (folder_.empty() || choice.find('\n') != std::string_view::npos) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string line = fmt::format("\n{} {}\n", word_of(facts, key), choice);
  // One write() in append mode: concurrent runs cannot mix their lines. The newline in front ends a
  // line that a full disk cut short.
  const int file =
      ::open((folder_ / file_name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  ::close(file);
}

}  // namespace assay
