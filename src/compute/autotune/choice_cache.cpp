#include "compute/autotune/choice_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "compute/autotune/choice_journal.h"
#include "compute/device/cache_folder.h"
#include "core/hash.h"

namespace assay {
namespace {

constexpr const char* file_name = "choices";

/// Returns the beginning of a line in the file: everything that a choice depends on, as one word.
std::string word_of(const DeviceFacts& facts, const ChoiceKey& key) {
  const std::string parts[] = {
      facts.backend, facts.uuid,         facts.name,
      facts.arch,    facts.partition,    std::to_string(facts.multiprocessors),
      key.what,      key.implementation, key.problem};
  return hash_of_parts(parts);
}

/// What was chosen, for people. A hash of sources says nothing to them.
std::string described(const ChoiceKey& key) {
  constexpr std::size_t longest_version = 40;
  const bool is_version = key.implementation.size() < longest_version;
  return fmt::format("{}{}{} for {}", key.what, is_version ? ", " : "",
                     is_version ? key.implementation : "", key.problem);
}

}  // namespace

ChoiceCache ChoiceCache::of_user(const DeviceFacts& facts) {
  return ChoiceCache(facts.emulated ? "" : cache_folder());
}

std::optional<std::string> ChoiceCache::find(const DeviceFacts& facts, const ChoiceKey& key) const {
  const std::string word = word_of(facts, key);
  ChoiceJournal* const journal = ChoiceJournal::current();
  std::optional<std::string> found;
  if (journal != nullptr) found = journal->given(word);
  if (!found) found = find_in_file(word);
  if (found && journal != nullptr) journal->note({word, described(key), *found});
  return found;
}

std::optional<std::string> ChoiceCache::find_in_file(const std::string& word) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(folder_ / file_name);
  std::optional<std::string> found;
  for (std::string line; std::getline(file, line);) {  // a later line overrides
    if (line.starts_with(word + ' ')) found = line.substr(word.size() + 1);
  }
  return found;
}

void ChoiceCache::note(const DeviceFacts& facts, const ChoiceKey& key,
                       std::string_view choice) const {
  ChoiceJournal* const journal = ChoiceJournal::current();
  if (journal != nullptr) {
    journal->note({word_of(facts, key), described(key), std::string(choice)});
  }
}

void ChoiceCache::keep(const DeviceFacts& facts, const ChoiceKey& key,
                       std::string_view choice) const {
  if (choice.find('\n') != std::string_view::npos) return;
  note(facts, key, choice);
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  const std::string line = fmt::format("\n{} {}\n", word_of(facts, key), choice);
  // One write() in append mode keeps concurrent runs from mixing their lines. The leading newline
  // ends a line that a full disk cut short.
  const int file =
      ::open((folder_ / file_name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  ::close(file);
}

}  // namespace assay
