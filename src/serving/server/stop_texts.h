// The texts before which a client wants its reply to end (OpenAI's `stop`).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::server {

/// Looks for them in a reply that comes piece by piece, and keeps back what may be the beginning of
/// one.
class StopTexts {
 public:
  StopTexts() = default;
  /// `stops`: texts that are not empty.
  explicit StopTexts(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  bool none() const { return stops_.empty(); }
  /// Appends to `out` the part of the kept text and of `piece` that lies before any stop text for
  /// sure. Returns true if a stop text has arrived, which ends the reply; before it `may_end`, a
  /// stop text is ordinary text.
  bool take(std::string_view piece, bool may_end, std::string& out);
  /// Appends what was kept back: nothing follows it.
  void end(std::string& out);

 private:
  std::vector<std::string> stops_;
  std::string kept_;
};

}  // namespace assay::server
