// Repeats the choices of an earlier run, and notes those of this one. Another algorithm rounds
// differently, so results are the same to the bit only with the same choices.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct KeptChoice {
  std::string key;     ///< what the choice depends on, as a hash
  std::string about;   ///< the same for people: "gemm, cublaslt 13.1.0 for 8192x8192x8192 bf16"
  std::string choice;  ///< one line of text

  bool operator==(const KeptChoice&) const = default;
};

/// While it lives, every ChoiceCache that this thread asks answers with the given choice of a key,
/// and with its own only if none was given. The journal notes what was found or kept. At most one
/// journal may live in a thread.
class ChoiceJournal {
 public:
  explicit ChoiceJournal(std::vector<KeptChoice> given);
  ~ChoiceJournal();
  ChoiceJournal(const ChoiceJournal&) = delete;
  ChoiceJournal& operator=(const ChoiceJournal&) = delete;

  /// This thread's; null: none.
  static ChoiceJournal* current();

  /// Returns the choice given for `key`; empty if there is none.
  std::optional<std::string> given(std::string_view key) const;
  /// A later note of the same key replaces an earlier one.
  void note(KeptChoice choice);
  const std::vector<KeptChoice>& made() const { return made_; }

 private:
  const std::vector<KeptChoice> given_;
  std::vector<KeptChoice> made_;
};

}  // namespace assay
