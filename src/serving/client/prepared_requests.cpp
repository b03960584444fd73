#include "serving/client/prepared_requests.h"

#include <utility>

namespace assay {
namespace {

/// More would take long to make before the first is sent.
constexpr std::size_t most_prepared = 4096, most_prepared_bytes = std::size_t{64} << 20;

}  // namespace

bool PreparedRequests::make_one() {
  while (next_ < prompts_.size() && prompts_.follows(next_)) ++next_;
  if (next_ >= prompts_.size() || made_.size() >= most_prepared || bytes_ >= most_prepared_bytes) {
    return false;
  }
  PreparedRequest request = made(next_);
  bytes_ += request.body.size();
  made_.emplace(next_++, std::move(request));
  return true;
}

PreparedRequest PreparedRequests::take(std::size_t index) {
  const auto at = made_.find(index);
  if (at == made_.end()) {
    if (index >= next_) next_ = index + 1;  // those before it were taken like it
    return made(index);
  }
  PreparedRequest request = std::move(at->second);
  made_.erase(at);
  bytes_ -= request.body.size();
  return request;
}

PreparedRequest PreparedRequests::made(std::size_t index) const {
  PreparedRequest request;
  request.prompt = prompts_.at(index);
  request.body = body_of(options_, request.prompt, {});
  request.prompt.ids = {};
  request.prompt.text = {};
  return request;
}

}  // namespace assay
