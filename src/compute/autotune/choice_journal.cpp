#include "compute/autotune/choice_journal.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

thread_local ChoiceJournal* journal_of_thread = nullptr;

}  // namespace

ChoiceJournal::ChoiceJournal(std::vector<KeptChoice> given) : given_(std::move(given)) {
  journal_of_thread = this;
}

ChoiceJournal::~ChoiceJournal() {
  journal_of_thread = nullptr;
}

ChoiceJournal* ChoiceJournal::current() {
  return journal_of_thread;
}

std::optional<std::string> ChoiceJournal::given(std::string_view key) const {
  const auto found = std::ranges::find(given_, key, &KeptChoice::key);
  if (found == given_.end()) return std::nullopt;
  return found->choice;
}

void ChoiceJournal::note(KeptChoice choice) {
  const auto known = std::ranges::find(made_, choice.key, &KeptChoice::key);
  if (known == made_.end()) {
    made_.push_back(std::move(choice));
  } else {
    *known = std::move(choice);
  }
}

}  // namespace assay
