#include "serving/simulator/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>

#include "serving/simulator/instance.h"

namespace assay::simulator {
namespace {

/// The name goes into JSON and metric labels unescaped.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("-._/:").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

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
          std::make_unique<Instance>(loop_, settings_, static_cast<std::uint64_t>(i)));
      TRY(instances_.back()->listen({address, static_cast<std::uint16_t>(port)}));
    }
    const bool v6 = address.is_v6();
    for (const auto& instance : instances_) {
      urls_.push_back(fmt::format("http://{}{}{}:{}", v6 ? "[" : "", address.to_string(),
                                  v6 ? "]" : "", instance->port()));
    }
    return {};
  }
  std::vector<std::string> urls() const override { return urls_; }
  void run(const std::function<bool()>& stop) override { loop_.run(stop); }

 private:
  const ServerSettings settings_;
  Loop loop_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<std::string> urls_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::open(const ServerSettings& settings) {
  SystemError error;
  const auto address = asio::ip::make_address(settings.host, error);
  if (error) {
    return Error{ErrorKind::usage,
                 fmt::format("bad address \"{}\": give a numeric one, e.g. 127.0.0.1 or 0.0.0.0",
                             settings.host)};
  }
  if (!is_plain_name(settings.model)) {
    return Error{ErrorKind::usage,
                 fmt::format("bad model name \"{}\": letters, digits and -._/: are allowed",
                             settings.model)};
  }
  auto server = std::make_unique<OpenServer>(settings);
  TRY(server->listen(address));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace assay::simulator
