#include "ranks/collective/nccl_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compute/device/matrix_unit_types.h"
#include "ranks/collective/communicator_checks.h"
#include "ranks/collective/nccl_endpoint.h"
#include "ranks/team/agreement.h"

namespace assay::nccl {
namespace {

/// The first version with a native gather and scatter; nccl-tests uses them from this version on.
constexpr int own_gather_and_scatter = 22800;
constexpr int first_with_registration = 21900;

class NcclCommunicator final : public Communicator {
 public:
  /// `owned` keeps `team` alive if it is not null.
  NcclCommunicator(std::shared_ptr<Endpoint> endpoint, Device& device, Team& team,
                   std::unique_ptr<Team> owned)
      : endpoint_(std::move(endpoint)),
        library_(endpoint_->library()),
        api_(library_.functions),
        comm_(endpoint_->comm()),
        device_(device),
        team_(team),
        owned_(std::move(owned)),
        rank_(team.rank()),
        ranks_(team.size()) {}
  ~NcclCommunicator() override { endpoint_->release(); }

  std::string library() const override { return library_.name(); }
  std::string path() const override { return library_.path; }
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  bool queues_on_stream() const override { return true; }

  std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                         Reduction reduction) const override {
    // With a single rank, NCCL copies by a kernel of its own, and 2.28.3 refuses this one.
    if (size() == 1 && reduces(operation) && reduction == Reduction::avg && is_fp8(type)) {
      return fmt::format("{} has no mean of fp8 for a single rank", library_.vendor->name);
    }
    return lacks(*library_.vendor, library_.version, device_.facts(), operation, type, reduction);
  }

  Status run(const CollectiveCall& call, Stream& stream) override {
    TRY(check_supported(*this, call));
    TRY(status());
    if (call.count == 0) return {};  // the same on every rank
    return queue(call, stream.native_handle());
  }

  Status enqueue(const CollectiveCall& call, Stream& stream) override { return run(call, stream); }
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) override {
    return transfer(sends, receives, stream);
  }

  Status status() const override {
    int status = success;
    TRY(check(api_.get_async_error(comm_, &status), "ncclCommGetAsyncError"));
    return check(status, "an earlier operation");
  }

  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override;

  Result<Registration> register_memory(void* address, std::size_t bytes) override {
    if (api_.register_memory == nullptr || api_.deregister == nullptr) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} does not register memory; {} does since {}", library_.name(),
                               library_.vendor->name, version_text(first_with_registration))};
    }
    void* handle = nullptr;
    TRY(device_.make_current());
    TRY(check(api_.register_memory(comm_, address, bytes, &handle), "ncclCommRegister"));
    if (handle == nullptr) return Registration();  // the library has no use for it
    // An aborted communicator has already dropped its registrations.
    return Registration([this, handle] {
      const Comm comm = endpoint_->comm();
      if (comm != nullptr && device_.make_current()) api_.deregister(comm, handle);
    });
  }

  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream& stream) override {
    void* queue = stream.native_handle();
    return grouped([&]() -> Status {
      for (const Message& message : sends) {
        TRY(send(message.data, message.bytes, uint8, message.peer, queue));
      }
      for (const Message& message : receives) {
        TRY(receive(message.data, message.bytes, uint8, message.peer, queue));
      }
      return {};
    });
  }

  Status begin_group() override { return check(api_.group_start(), "ncclGroupStart"); }
  Status end_group() override { return check(api_.group_end(), "ncclGroupEnd"); }

  void abort() override { endpoint_->abort(); }

 private:
  Status check(int status, std::string_view call) const {
    return library_.check(status, call, comm_);
  }
  Status send(const void* data, std::size_t count, int type, int peer, void* queue) const {
    return check(api_.send(data, count, type, peer, comm_, queue), "ncclSend");
  }
  Status receive(void* data, std::size_t count, int type, int peer, void* queue) const {
    return check(api_.receive(data, count, type, peer, comm_, queue), "ncclRecv");
  }

  /// Ends the group even if a call within it fails, because the library counts begins and ends.
  template <typename Calls>
  Status grouped(Calls calls) {
    TRY(begin_group());
    const Status inside = calls();
    const Status end = end_group();
    return inside.ok() ? end : inside;
  }

  Status queue(const CollectiveCall& call, void* queue) {
    // Encodings matter only to arithmetic; every version can move bytes.
    const int type = is_fp8(call.type) && !reduces(call.operation) ? uint8 : data_type(call.type);
    const int op = reduction_number(call.reduction);
    const std::size_t n = call.count, block = n * size_of(call.type);
    const auto* from = static_cast<const std::byte*>(call.send);
    auto* to = static_cast<std::byte*>(call.receive);
    const auto place = [&](int rank) { return static_cast<std::size_t>(rank) * block; };
    switch (call.operation) {
      case CollectiveOperation::all_reduce:
        return check(api_.all_reduce(from, to, n, type, op, comm_, queue), "ncclAllReduce");
      case CollectiveOperation::reduce:
        return check(api_.reduce(from, to, n, type, op, call.root, comm_, queue), "ncclReduce");
      case CollectiveOperation::reduce_scatter:
        return check(api_.reduce_scatter(from, to, n, type, op, comm_, queue), "ncclReduceScatter");
      case CollectiveOperation::broadcast:
        return check(api_.broadcast(from, to, n, type, call.root, comm_, queue), "ncclBroadcast");
      case CollectiveOperation::all_gather:
        return check(api_.all_gather(from, to, n, type, comm_, queue), "ncclAllGather");
      case CollectiveOperation::all_to_all:
        // The library's function does the same sends and receives, or something faster.
        if (api_.all_to_all != nullptr) {
          return check(api_.all_to_all(from, to, n, type, comm_, queue), "ncclAlltoAll");
        }
        return grouped([&]() -> Status {
          for (int peer = 0; peer < ranks_; ++peer) {
            TRY(send(from + place(peer), n, type, peer, queue));
            TRY(receive(to + place(peer), n, type, peer, queue));
          }
          return {};
        });
      case CollectiveOperation::gather:
        if (library_.version >= own_gather_and_scatter && api_.gather != nullptr) {
          return check(api_.gather(from, to, n, type, call.root, comm_, queue), "ncclGather");
        }
        return grouped([&]() -> Status {
          TRY(send(from, n, type, call.root, queue));
          for (int peer = 0; rank_ == call.root && peer < ranks_; ++peer) {
            TRY(receive(to + place(peer), n, type, peer, queue));
          }
          return {};
        });
      case CollectiveOperation::scatter:
        if (library_.version >= own_gather_and_scatter && api_.scatter != nullptr) {
          return check(api_.scatter(from, to, n, type, call.root, comm_, queue), "ncclScatter");
        }
        return grouped([&]() -> Status {
          for (int peer = 0; rank_ == call.root && peer < ranks_; ++peer) {
            TRY(send(from + place(peer), n, type, peer, queue));
          }
          return receive(to, n, type, call.root, queue);
        });
      case CollectiveOperation::send_recv:
        return grouped([&]() -> Status {
          TRY(send(from, n, type, (rank_ + 1) % ranks_, queue));
          return receive(to, n, type, (rank_ + ranks_ - 1) % ranks_, queue);
        });
    }
    return {};
  }

  const std::shared_ptr<Endpoint> endpoint_;
  const Library& library_;
  const Functions& api_;
  const Comm comm_;
  Device& device_;
  Team& team_;
  const std::unique_ptr<Team> owned_;
  const int rank_, ranks_;
};

std::string hex_of(const UniqueId& id) {
  std::string text;
  for (const char c : id.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Result<UniqueId> id_of(std::string_view hex) {
  UniqueId id;
  if (hex.size() != 2 * id.bytes.size()) {
    return Error{ErrorKind::failed, "the identifier of the communicator arrived incomplete"};
  }
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16);
    id.bytes[i] = static_cast<char>(value);
  }
  return id;
}

/// Loads the library and returns what other ranks need: the version, and on rank 0 the identifier.
Result<std::string> introduce(const Vendor& vendor, Device& device, const Team& team,
                              Library& library) {
  library = TRY(load(vendor));
  TRY(device.make_current());
  if (team.rank() != 0) return library.name();
  UniqueId id;
  TRY(library.check(library.functions.get_unique_id(&id), "ncclGetUniqueId", nullptr));
  return library.name() + " " + hex_of(id);
}

/// Opens a new communicator over `team`, which `owned` keeps alive if it is not null.
Result<std::unique_ptr<Communicator>> open_fresh(const Vendor& vendor, Device& device, Team& team,
                                                 std::unique_ptr<Team> owned,
                                                 const CommunicatorConfig& config) {
  Library library;
  const auto all = TRY(exchange_or_fail(team, fmt::format("a communicator of {}", vendor.name),
                                        introduce(vendor, device, team, library)));
  const std::string& first = all.front();  // "NCCL 2.28.9 <identifier>"
  const std::size_t gap = first.rfind(' ');
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != first.substr(0, gap)) {
      return Error{ErrorKind::unavailable,
                   fmt::format("{} has {}, {} has {}: all ranks need the same version",
                               name_of(team.members()[0]), first.substr(0, gap),
                               name_of(team.members()[rank]), all[rank])};
    }
  }
  const UniqueId id = TRY(id_of(std::string_view(first).substr(gap + 1)));
  std::optional<Config> native = TRY(config_for(library, config));
  const auto make = [api = library.functions, ranks = team.size(), rank = team.rank(), id,
                     native](Comm* comm) mutable {
    return native ? api.init_rank_config(comm, ranks, id, rank, &*native)
                  : api.init_rank(comm, ranks, id, rank);
  };
  Comm comm = TRY(
      join(library, device, team, native ? "ncclCommInitRankConfig" : "ncclCommInitRank", make));
  return std::unique_ptr<Communicator>(std::make_unique<NcclCommunicator>(
      std::make_shared<Endpoint>(std::move(library), comm), device, team, std::move(owned)));
}

Result<std::unique_ptr<Communicator>> NcclCommunicator::split(int colour, int key,
                                                              const CommunicatorConfig& config) {
  auto part = TRY(split_team(team_, colour, key));
  Team& ranks = *part;
  if (api_.split == nullptr) {  // before 2.18
    auto made = TRY(open_fresh(*library_.vendor, device_, ranks, std::move(part), config));
    if (colour < 0) made = nullptr;
    return made;
  }
  std::optional<Config> native = TRY(config_for(library_, config));
  const auto make = [endpoint = endpoint_, colour = std::max(colour, no_colour), key,
                     native](Comm* made) mutable {
    return endpoint->use([&](Comm comm) {
      Config none;  // without a config, the library would inherit this communicator's bounds
      return endpoint->library().functions.split(comm, colour, key, made,
                                                 native ? &*native : &none);
    });
  };
  Comm comm = TRY(join(library_, device_, team_, "ncclCommSplit", make));
  if (colour < 0) return std::unique_ptr<Communicator>();
  return std::unique_ptr<Communicator>(std::make_unique<NcclCommunicator>(
      std::make_shared<Endpoint>(library_, comm), device_, ranks, std::move(part)));
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_communicator(const Vendor& vendor, Device& device,
                                                        Team& team,
                                                        const CommunicatorConfig& config) {
  return open_fresh(vendor, device, team, nullptr, config);
}

}  // namespace assay::nccl
