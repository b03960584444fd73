// What a piece of work chose by measuring, and what it is told to choose: other choices give other
// bits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct KeptChoice {
  std::string key;     ///< what the choice depends on, as a hash
  std::string about;   ///< the same for people: "gemm, cublaslt 13.1.0, 8192x8192x8192 bf16"
  std::string choice;  ///< one line

  bool operator==(const KeptChoice&) const = default;
};

/// While it lives, every ChoiceCache that this thread asks answers with the given choices, if it
/// has one under that key, and only then with its own. It notes what was found or kept. At most one
/// lives in a thread.
class ChoiceJournal {
 public:
  explicit ChoiceJournal(std::vector<KeptChoice> given);
  ~ChoiceJournal();
  ChoiceJournal(const ChoiceJournal&) = delete;
  ChoiceJournal& operator=(const ChoiceJournal&) = delete;

  /// This thread's; null: none.
  static ChoiceJournal* current();

  std::optional<std::string> given(std::string_view key) const;
  /// A later note of the same key replaces an earlier one.
  void note(KeptChoice choice);
  const std::vector<KeptChoice>& made() const { return made_; }

 private:
  const std::vector<KeptChoice> given_;
  std::vector<KeptChoice> made_;
};

}  // namespace assay
