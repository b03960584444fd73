// Serves an LLM on this machine's device: the engine behind OpenAI's interface over HTTP/1.1.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "serving/engine/engine.h"
#include "serving/engine/tokenizer_text.h"
#include "serving/server/server_endpoints.h"

namespace assay::engine {

struct EngineServerSettings {
  std::string host = "127.0.0.1";  ///< a numeric address
  std::uint16_t port = 8000;       ///< 0: any free one
  server::ServedModelFacts model;
  EngineSettings engine;
  std::shared_ptr<const TokenizerText> text = std::make_shared<TokenizerText>(Tokenizer::bytes());
  std::uint64_t seed = 0;  ///< makes the seeds of requests that have none
};

class EngineServer {
 public:
  /// Checks the device by check_decoder() with a small version of the model, makes the engine and
  /// starts listening. If several ranks share the model, rank 0 calls this and the others call
  /// follow_server(). `device` and the ranks must outlive it. Error: usage if the address or the
  /// name is invalid; unavailable, naming the port; verification if the small version is wrong; as
  /// Engine::start(); of the device.
  static Result<std::unique_ptr<EngineServer>> open(Device& device,
                                                    const EngineServerSettings& settings);
  virtual ~EngineServer() = default;

  /// Returns the server's URL: "http://127.0.0.1:8000".
  virtual std::string url() const = 0;
  /// DecoderGate::error of that check: the relative distance of logits from the reference.
  virtual double gate_error() const = 0;
  /// Names what computes the attention of whole prompts: "library (cuDNN 9.19.0)", "own" or
  /// "cache".
  virtual std::string prompt_attention() const = 0;
  /// Says what the products of quantized matrices read, and why; empty if there are none.
  virtual std::string inputs_of_products() const = 0;
  /// What the cache of keys and values holds: "bf16", "e4m3, a factor per token and head".
  virtual std::string cache_type() const = 0;
  /// Serves until stop() returns true, here or on a rank that shares the model; stop() is called
  /// ten times a second. Then it ends all replies. Error: of the device; failed, naming a rank that
  /// is lost; exhausted, without a free file descriptor for the engine's notifications.
  virtual Status run(const std::function<bool()>& stop) = 0;
  /// Requests that were answered, or begun to be.
  virtual std::uint64_t requests() const = 0;
  virtual EngineState state() const = 0;
};

/// Does the work of a rank other than 0, its part of each pass, until rank 0 ends. If `stop`
/// returns true, rank 0 ends all ranks. Error: of the device; verification, if the small version is
/// wrong; failed, naming a rank that is lost.
Status follow_server(Device& device, const ExecutorSettings& settings,
                     const std::function<bool()>& stop);

}  // namespace assay::engine
