// Requests whose bodies are made before they are due, so that those that become due together are
// sent together.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "serving/client/api.h"
#include "serving/workload/prompt.h"

namespace assay {

/// A request with its body as sent.
struct PreparedRequest {
  Prompt prompt;  ///< its ids and text are empty, because `body` has them
  std::string body;
};

/// Conversations' first requests, in the order of the prompts; later turns wait for replies.
class PreparedRequests {
 public:
  /// `options` and `prompts` must outlive it.
  PreparedRequests(const RequestOptions& options, const Prompts& prompts)
      : options_(options), prompts_(prompts) {}

  /// Makes one more. Returns false if there is none, or if 4,096 requests or 64 MiB are waiting.
  bool make_one();
  /// The first request of a conversation; it is made now unless it has been.
  PreparedRequest take(std::size_t index);

 private:
  PreparedRequest made(std::size_t index) const;

  const RequestOptions& options_;
  const Prompts& prompts_;
  std::size_t next_ = 0, bytes_ = 0;
  std::unordered_map<std::size_t, PreparedRequest> made_;
};

}  // namespace assay
