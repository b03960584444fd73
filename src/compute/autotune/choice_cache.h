// What was found best by measuring (launch geometries, algorithms of matrix libraries), kept
// between runs in one small file of the user's cache folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "results/record/device_facts.h"

namespace assay {

/// What a choice was made for. Whatever could make another one best is part of it.
struct ChoiceKey {
  std::string what;            ///< "memory geometry", "gemm"
  std::string implementation;  ///< the library and its version, or the hash of the kernel's source
  std::string problem;         ///< the operation with its sizes and types
};

/// Reads the file whenever it is asked: a search costs far more. A damaged or foreign file counts
/// as empty; a folder that cannot be written only means searching again.
class ChoiceCache {
 public:
  /// The file "choices" in `folder`; nothing is kept if that is empty.
  explicit ChoiceCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// In cache_folder(), except for an emulated device: what a model's times choose is worth
  /// nothing, and must not lie beside a real device's.
  static ChoiceCache of_user(const DeviceFacts& facts);

  std::optional<std::string> find(const DeviceFacts& facts, const ChoiceKey& key) const;
  /// `choice`: one line of text.
  void keep(const DeviceFacts& facts, const ChoiceKey& key, std::string_view choice) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace assay
