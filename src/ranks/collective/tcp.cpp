// Host memory over assay's own TCP connections: works wherever sockets do and needs no library.
#include <fmt/format.h>

#include "ranks/collective/communicator_checks.h"
#include "ranks/collective/host_communicator.h"
#include "ranks/collective/tcp_algorithms.h"
#include "ranks/collective/tcp_transfer.h"

namespace assay::tcp_communicator {
namespace {

class TcpCommunicator final : public HostCommunicator {
 public:
  /// Over all ranks of `team`, which `owned` keeps if it is not null.
  static Result<std::unique_ptr<Communicator>> open(Team& team, std::unique_ptr<Team> owned,
                                                    const CommunicatorConfig& config) {
    TRY(check_config(config));
    auto links = TRY(TcpLinks::connect(team));
    return std::unique_ptr<Communicator>(
        new TcpCommunicator(team, std::move(owned), std::move(links)));
  }

  std::string library() const override { return "TCP"; }
  int rank() const override { return links_->rank(); }
  int size() const override { return links_->size(); }

  std::optional<std::string> unsupported(CollectiveOperation, DataType type,
                                         Reduction) const override {
    return no_type_of_memory(type);
  }

  Status run(const CollectiveCall& call, Stream&) override {
    TRY(check_supported(*this, call));
    return run_over_tcp(*links_, workspace_, call);
  }

  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream&) override {
    return assay::transfer(*links_, sends, receives);
  }

  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override {
    auto part = TRY(split_team(team_, colour, key));
    Team& ranks = *part;
    auto made = TRY(open(ranks, std::move(part), config));
    if (colour < 0) made = nullptr;
    return made;
  }

  void abort() override { links_->close(); }

 private:
  TcpCommunicator(Team& team, std::unique_ptr<Team> owned, std::unique_ptr<TcpLinks> links)
      : team_(team), owned_(std::move(owned)), links_(std::move(links)) {}

  Team& team_;
  std::unique_ptr<Team> owned_;
  std::unique_ptr<TcpLinks> links_;
  TcpWorkspace workspace_;
};

const CommunicatorRegistry::Add registered{
    {"tcp", "assay's own TCP connections, for host memory",
     [](const Device& device, const Team&) { return has_host_memory(device) ? 10 : 0; },
     [](Device& device, Team& team,
        const CommunicatorConfig& config) -> Result<std::unique_ptr<Communicator>> {
       if (!has_host_memory(device)) {
         return Error{ErrorKind::unsupported,
                      fmt::format("tcp moves host memory; {} is a GPU: choose nccl, rccl or mpi",
                                  device.facts().name)};
       }
       return TcpCommunicator::open(team, nullptr, config);
     }}};

}  // namespace
}  // namespace assay::tcp_communicator
