// Choices that were measured to be fastest (launch geometries, algorithms of matrix libraries).
// They are kept between runs in one small file of the user's cache folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "results/record/device_facts.h"

namespace assay {

/// The key of a choice on one device: all that could make another choice the best one there.
struct ChoiceKey {
  std::string what;            ///< "memory geometry", "gemm"
  std::string implementation;  ///< the library and its version, or the hash of the kernel's source
  std::string problem;         ///< the operation with its sizes and types
};

/// If the calling thread has a ChoiceJournal, find() asks that first, and the journal notes every
/// choice that was found or kept. Without an answer from one find() reads the file each time,
/// because a search costs far more than that. Lines of another format are ignored. A folder that
/// cannot be written only means that the search is repeated next time. Several processes may use
/// one file.
class ChoiceCache {
 public:
  /// Uses the file "choices" in `folder`; keeps nothing if `folder` is empty.
  explicit ChoiceCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Uses cache_folder(), but keeps nothing for an emulated device: choices that follow from
  /// modelled times must not mix with those of a real device.
  static ChoiceCache of_user(const DeviceFacts& facts);

  /// Returns the choice that the thread's journal gives for this key on the device `facts`, or else
  /// the one that was kept last; empty if there is neither.
  std::optional<std::string> find(const DeviceFacts& facts, const ChoiceKey& key) const;
  /// Tells the thread's ChoiceJournal of a choice that was made without measuring, such as the only
  /// possible one. It is not written to the file.
  void note(const DeviceFacts& facts, const ChoiceKey& key, std::string_view choice) const;
  /// Keeps `choice`, one line of text, and notes it; ignores a choice of several lines.
  void keep(const DeviceFacts& facts, const ChoiceKey& key, std::string_view choice) const;

 private:
  std::optional<std::string> find_in_file(const std::string& word) const;

  std::filesystem::path folder_;
};

}  // namespace assay
