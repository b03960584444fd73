#include "serving/simulator/simulated_server.h"

#include <fmt/format.h>

#include "serving/simulator/simulated_instance.h"

namespace assay::simulator {
namespace {

class OpenServer final : public Server {
 public:
  explicit OpenServer(const ServerSettings& settings) : settings_(settings) {}

  Status listen(const asio::ip::address& address) {
    const int last_port = settings_.port == 0 ? 0 : settings_.port + settings_.servers - 1;
    if (last_port > UINT16_MAX) {
      return Error{ErrorKind::usage, fmt::format("port {} is above 65535", last_port)};
    }
    for (int i = 0; i < settings_.servers; ++i) {
      const int port = settings_.port == 0 ? 0 : settings_.port + i;
      instances_.push_back(
          std::make_unique<SimulatedInstance>(loop_, settings_, static_cast<std::uint64_t>(i)));
      TRY(instances_.back()->listen({address, static_cast<std::uint16_t>(port)}));
    }
    for (const auto& instance : instances_) urls_.push_back(url_of(address, instance->port()));
    return {};
  }
  std::vector<std::string> urls() const override { return urls_; }
  void run(const std::function<bool()>& stop) override { loop_.run(stop); }

 private:
  const ServerSettings settings_;
  Loop loop_;
  std::vector<std::unique_ptr<SimulatedInstance>> instances_;
  std::vector<std::string> urls_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::open(const ServerSettings& settings) {
  const auto address = TRY(numeric_address(settings.host));
  TRY(check_model_name(settings.model.name));
  auto server = std::make_unique<OpenServer>(settings);
  TRY(server->listen(address));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace assay::simulator
