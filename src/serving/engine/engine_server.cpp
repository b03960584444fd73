#include "serving/engine/engine_server.h"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>

#include "model/decoder/decoder_self_check.h"
#include "serving/engine/engine_instance.h"

namespace assay::engine {
namespace {

class OpenServer final : public EngineServer {
 public:
  OpenServer(const EngineServerSettings& settings, std::unique_ptr<Engine> engine,
             double gate_error)
      : settings_(settings), engine_(std::move(engine)), gate_error_(gate_error) {}

  Status listen(const server::asio::ip::address& address) {
    TRY(instance_.listen({address, settings_.port}));
    url_ = server::url_of(address, instance_.port());
    return {};
  }

  std::string url() const override { return url_; }
  double gate_error() const override { return gate_error_; }
  std::uint64_t requests() const override { return instance_.requests(); }
  std::string prompt_attention() const override { return engine_->prompt_attention(); }
  std::string inputs_of_products() const override { return engine_->inputs_of_products(); }
  std::string cache_type() const override { return engine_->cache_type(); }
  EngineState state() const override { return engine_->state(); }

  Status run(const std::function<bool()>& stop) override {
    bool ending = false;
    loop_.run([&] {
      // What the replies end with is written by the time of the next call.
      if (ending) return true;
      ending = stop() || engine_->state().stop_was_asked || instance_.failure();
      if (ending) instance_.shut_down();
      return false;
    });
    const std::optional<Error> failure = instance_.failure();
    return failure ? Status(*failure) : Status();
  }

 private:
  const EngineServerSettings settings_;
  const std::unique_ptr<Engine> engine_;
  const double gate_error_;
  server::Loop loop_;
  EngineInstance instance_{loop_, settings_.model, *settings_.text, *engine_, settings_.seed};
  std::string url_;
};

Result<double> check_device(Device& device, const ExecutorSettings& settings) {
  const auto stream = TRY(device.create_stream());
  const DecoderGate gate = TRY(check_decoder(device, *stream, settings.decoder()));
  if (gate.passed()) return gate.error;
  return Error{ErrorKind::verification,
               fmt::format("a small version of the model differs from the reference on this "
                           "device: relative distance of logits {:.2g}, allowed {:.2g}",
                           gate.error, gate.tolerance)};
}

}  // namespace

Result<std::unique_ptr<EngineServer>> EngineServer::open(Device& device,
                                                         const EngineServerSettings& settings) {
  const auto address = TRY(server::numeric_address(settings.host));
  TRY(server::check_model_name(settings.model.name));
  const double gate_error = TRY(check_device(device, settings.engine.executor));
  auto engine = TRY(Engine::start(device, settings.engine));
  auto server = std::make_unique<OpenServer>(settings, std::move(engine), gate_error);
  TRY(server->listen(address));
  return std::unique_ptr<EngineServer>(std::move(server));
}

Status follow_server(Device& device, const ExecutorSettings& settings,
                     const std::function<bool()>& stop) {
  TRY(check_device(device, settings));
  const auto executor = TRY(StepExecutor::create(device, settings));
  return executor->follow(stop);
}

}  // namespace assay::engine
