// Serves the pages of one server on a port, and passes requests for text to a generator.
#pragma once

#include "serving/server/aside.h"
#include "serving/server/connection.h"
#include "serving/server/generation_request.h"
#include "serving/server/listener.h"
#include "serving/server/reply.h"
#include "serving/server/server_metrics.h"

namespace assay::server {

/// What clients see of a model.
struct ServedModelFacts {
  std::string name;                   ///< one that check_model_name() accepts
  std::string owner;                  ///< "owned_by" of /v1/models
  std::uint64_t max_length = 131072;  ///< tokens of prompt and reply
  std::uint32_t vocabulary = 128256;  ///< token ids are below it
};

/// A request that can be answered.
struct AcceptedRequest {
  GenerationRequest asked;
  Dialect dialect = Dialect::completions;
  bool stream = false;
  std::uint64_t tokens = 0;  ///< at most, of each choice
  bool keep_alive = true;
  double received = 0;  ///< HttpRequest::received
};

/// A server on one port of a loop, which may have several. A derived class answers the requests;
/// its functions are called on the loop's thread.
class Instance : public RequestHandler {
 public:
  struct Route;

  /// `loop`, `model` and `text` must outlive the instance.
  Instance(Loop& loop, const ServedModelFacts& model, const TextTokens& text);

  /// Error: as Listener::listen().
  Status listen(const Tcp::endpoint& endpoint) { return listener_.listen(endpoint); }
  std::uint16_t port() const { return listener_.port(); }
  void on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) override;

 protected:
  /// Answers, or says why not: with status 400, or 503 if it cannot answer any request.
  virtual void generate(const std::shared_ptr<Connection>& connection, AcceptedRequest request) = 0;
  /// The tokens of a reply without a limit; never called for completions, which have OpenAI's 16.
  virtual std::uint64_t usual_tokens(const GenerationRequest& asked) const = 0;
  virtual std::string metrics_text() = 0;
  /// The page /steps, as StepLog::json() (step_log.h); empty: this server does not log its steps.
  virtual std::string steps_json() { return {}; }
  /// Discards all prefixes. Does nothing and returns false while the cache is in use.
  virtual bool reset_prefix_cache() = 0;
  /// Returns why the server cannot answer; empty: it can.
  virtual std::string problem() const { return ""; }

  /// What a reply's events say besides its tokens.
  ReplyFacts facts_of(const AcceptedRequest& request, std::uint64_t number) const;
  static void refuse(Connection& connection, bool keep_alive, int status, std::string_view message,
                     std::string_view more_headers = "");
  Loop& loop() { return loop_; }
  const ServedModelFacts& model() const { return model_; }
  const TextTokens& text() const { return text_; }
  /// Ends the listening.
  void close() { listener_.close(); }

 private:
  void accept_generation(const std::shared_ptr<Connection>& connection, HttpRequest request,
                         const Route& route);
  void admit(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
             const Route& route, GenerationRequest asked);
  template <typename Make, typename Use>
  void read_body(const std::shared_ptr<Connection>& connection, HttpRequest request, Make make,
                 Use use);
  Status check(const GenerationRequest& asked, std::uint64_t tokens) const;
  static void answer(Connection& connection, const HttpRequest& request, int status,
                     std::string_view body, std::string_view type = "application/json");
  static void refuse(Connection& connection, const HttpRequest& request, int status,
                     std::string_view message) {
    refuse(connection, request.keep_alive, status, message);
  }
  void answer_simple(const std::shared_ptr<Connection>& client, HttpRequest request);
  static bool takes_type_of(Connection& connection, const HttpRequest& request);
  void answer_tokens(const std::shared_ptr<Connection>& connection, HttpRequest request);
  std::string models_text() const;

  Loop& loop_;
  const ServedModelFacts& model_;
  const TextTokens& text_;
  Listener listener_;
  Aside aside_;
  std::size_t bytes_aside_ = 0;  // bytes of the bodies that it reads
};

/// Error: usage, if `host` is no numeric address.
Result<asio::ip::address> numeric_address(const std::string& host);
/// What to tell whoever starts a server there; empty if only this machine can reach it.
std::string reach_note(const std::string& host);
/// Error: usage. The name goes into JSON and metric labels unescaped.
Status check_model_name(std::string_view name);
/// Returns the URL of a port: "http://127.0.0.1:8000".
std::string url_of(const asio::ip::address& address, std::uint16_t port);

}  // namespace assay::server
