// Choices that were measured to be fastest (launch geometries, algorithms of matrix libraries).
// They are kept between runs in one small file of the user's cache folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "results/record/device_facts.h"

namespace assay {

/// The key of a choice. It holds everything that could make another choice the best one.
struct ChoiceKey {
  std::string what;            ///< "memory geometry", "gemm"
  std::string implementation;  ///< the library and its version, or the hash of the kernel's source
  std::string problem;         ///< the operation with its sizes and types
};

/// Each call reads the file, because a search costs far more than that. A damaged or foreign file
/// counts as empty. A folder that cannot be written only means that the search is repeated next
/// time. A ChoiceJournal of the calling thread is asked first.
class ChoiceCache {
 public:
  /// Uses the file "choices" in `folder`; keeps nothing if `folder` is empty.
  explicit ChoiceCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Uses cache_folder(), but keeps nothing for an emulated device: choices that follow from
  /// modelled times must not mix with those of a real device.
  static ChoiceCache of_user(const DeviceFacts& facts);

  std::optional<std::string> find(const DeviceFacts& facts, const ChoiceKey& key) const;
  /// Tells the thread's ChoiceJournal alone what was chosen without being the fastest.
  void note(const DeviceFacts& facts, const ChoiceKey& key, std::string_view choice) const;
  /// `choice` is one line of text.
  void keep(const DeviceFacts& facts, const ChoiceKey& key, std::string_view choice) const;

 private:
  std::optional<std::string> find_in_file(const std::string& word) const;

  std::filesystem::path folder_;
};

}  // namespace assay
