// Passes HTTP requests to an engine and its tokens to replies, on the thread of the event loop.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <optional>
#include <unordered_map>

#include "serving/engine/engine.h"
#include "serving/server/server_endpoints.h"
#include "serving/server/stop_texts.h"

namespace assay::engine {

class EngineInstance final : public server::Instance, public server::TokenSource {
 public:
  /// All must outlive the instance. `seed` makes the seeds of requests that have none.
  EngineInstance(server::Loop& loop, const server::ServedModelFacts& model,
                 const server::TextTokens& text, Engine& engine, std::uint64_t seed);

  /// Ends all replies, and answers no more requests.
  void shut_down();
  void cancel(std::uint64_t id) override;
  std::uint64_t requests() const { return requests_; }  ///< answered, or begun to be
  /// Returns why the engine has ended, or that no file descriptor was left to hear of its
  /// tokens; else empty.
  std::optional<Error> failure() const;
  /// Returns the message of failure().
  std::string problem() const override;

 protected:
  void generate(const std::shared_ptr<server::Connection>& connection,
                server::AcceptedRequest request) override;
  /// All that the context has room for, as in vLLM.
  std::uint64_t usual_tokens(const server::GenerationRequest& asked) const override;
  std::string metrics_text() override;
  std::string steps_json() override { return engine_.step_log().json(); }
  bool reset_prefix_cache() override { return engine_.reset_prefix_cache(); }

 private:
  struct Reader {
    std::size_t choice = 0;
    std::shared_ptr<server::TokenSink> sink;
    std::unique_ptr<server::TextStream> text;
    server::StopTexts stops;
    std::uint64_t min_tokens = 0;  ///< before them, no text ends the reply
    std::uint32_t likeliest = 0;   ///< tokens whose log probabilities are wanted in each place
  };

  void wait_for_events();
  void on_events();
  void on_token(const EngineEvent& event);
  server::ChosenLogprobs named(const RowLogprobs& row, std::uint32_t chosen,
                               std::uint32_t likeliest) const;
  bool take_text(Reader& reader, const EngineEvent& event);
  void fail_all(int status, std::string_view message);

  Engine& engine_;
  const std::uint64_t seed_;
  boost::asio::posix::stream_descriptor events_there_;
  std::vector<EngineEvent> events_;  // kept, so that reading allocates nothing
  std::string text_of_token_, told_, escaped_;
  std::shared_ptr<server::ServerMetrics> metrics_ = std::make_shared<server::ServerMetrics>();
  std::unordered_map<std::uint64_t, Reader> readers_;
  std::uint64_t requests_ = 0, last_id_ = 0;
  bool closed_ = false;
};

}  // namespace assay::engine
