// Host memory over assay's own TCP connections: works wherever sockets do and needs no library.
#include <fmt/format.h>

#include "ranks/collective/support.h"
#include "ranks/collective/tcp_algorithms.h"
#include "ranks/collective/tcp_transfer.h"

namespace assay::tcp_communicator {
namespace {

class TcpCommunicator final : public Communicator {
 public:
  explicit TcpCommunicator(std::unique_ptr<TcpLinks> links) : links_(std::move(links)) {}

  std::string library() const override { return "TCP"; }
  bool queues_on_stream() const override { return false; }

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

  void abort() override { links_->close(); }

 private:
  std::unique_ptr<TcpLinks> links_;
  TcpWorkspace workspace_;
};

const CommunicatorRegistry::Add registered{
    {"tcp", "assay's own TCP connections, for host memory",
     [](const Device& device, const Team&) { return has_host_memory(device) ? 10 : 0; },
     [](Device& device, Team& team) -> Result<std::unique_ptr<Communicator>> {
       if (!has_host_memory(device)) {
         return Error{ErrorKind::unsupported,
                      fmt::format("tcp moves host memory; {} is a GPU: choose nccl, rccl or mpi",
                                  device.facts().name)};
       }
       return std::unique_ptr<Communicator>(
           std::make_unique<TcpCommunicator>(TRY(TcpLinks::connect(team))));
     }}};

}  // namespace
}  // namespace assay::tcp_communicator
