// Self-registration: a file that defines a benchmark, backend or kernel registers it with one
// static object, so adding one never requires editing a list.
#pragma once

#include <vector>

namespace assay {

/// All entries of one type, in link order; sort by name where order is shown. The list is filled
/// before main() and only read afterwards.
template <typename Entry>
class Registry {
 public:
  static const std::vector<Entry>& entries() { return storage(); }

  /// A namespace-scope object of this type adds its entry.
  struct Add {
    explicit Add(Entry entry) { storage().push_back(entry); }
  };

 private:
  static std::vector<Entry>& storage() {
    static std::vector<Entry> entries;
    return entries;
  }
};

}  // namespace assay
