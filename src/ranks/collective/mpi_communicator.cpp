#include "ranks/collective/mpi_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ranks/collective/communicator_checks.h"
#include "ranks/collective/host_communicator.h"
#include "ranks/collective/mpi_process.h"
#include "ranks/team/agreement.h"

namespace assay::mpi {
namespace {

/// Uses MPI's blocking calls, because non-blocking collectives take different, slower paths than
/// the commonly used blocking ones. If a rank dies, the launcher ends all others and so these
/// waits.
template <typename H>
class MpiCommunicator final : public HostCommunicator {
 public:
  /// `comm` covers the ranks of `team`, in their order; this object frees it if `frees` is true.
  /// `owned` keeps the team alive if it is not null.
  MpiCommunicator(Process& process, const Library<H>& library, Device& device, H comm, bool frees,
                  Team& team, std::unique_ptr<Team> owned, std::size_t largest)
      : process_(process),
        library_(library),
        api_(library.functions),
        handles_(library.handles),
        device_(device),
        comm_(comm),
        frees_(frees),
        team_(team),
        owned_(std::move(owned)),
        rank_(team.rank()),
        ranks_(team.size()),
        largest_(largest) {}
  ~MpiCommunicator() override {
    if (frees_ && !process_.given_up()) api_.free_comm(&comm_);
  }

  std::string library() const override { return library_.name; }
  std::string path() const override { return library_.path; }
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }

  std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                         Reduction reduction) const override {
    if (auto why = no_type_of_memory(type)) return why;
    if (!reduces(operation)) return std::nullopt;
    if (!native_index(native_reductions, reduction)) {
      return fmt::format("MPI has no reduction {}", name_of(reduction));
    }
    if (!native_index(native_types, type)) {
      return fmt::format("MPI has no type {}, and so cannot reduce it", name_of(type));
    }
    return std::nullopt;
  }

  Status run(const CollectiveCall& call, Stream& stream) override {
    TRY(check_supported(*this, call));
    if (call.count == 0) return {};  // the same on every rank
    return noted(operate(call, stream));
  }

  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream&) override {
    return noted(exchange(sends, receives));
  }

  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override {
    auto part = TRY(split_team(team_, colour, key));
    TRY(check_config(config));
    Team& ranks = *part;
    H made{};
    TRY(noted(check(api_.split(comm_, colour < 0 ? undefined_colour : colour, key, &made),
                    "MPI_Comm_split")));
    if (colour < 0) return std::unique_ptr<Communicator>();
    TRY(noted(
        check(api_.set_error_handler(made, handles_.errors_return), "MPI_Comm_set_errhandler")));
    return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator<H>>(
        process_, library_, device_, made, true, ranks, std::move(part), largest_));
  }

  void abort() override { process_.give_up(); }

 protected:
  std::optional<std::string> no_host_functions() const override {
    if (!has_host_memory(device_)) {
      return fmt::format(
          "{} moves GPU memory by calls that a stream cannot make: synchronise the "
          "stream and call run()",
          library_.name);
    }
    if (process_.serves_all_threads()) return std::nullopt;
    return fmt::format(
        "{} was started for one thread and cannot be called by streams: call "
        "mpi_use_from_streams() before its first use",
        library_.name);
  }

 private:
  /// Describes `count` elements by an MPI type and count.
  struct Elements {
    int count = 0;
    H type{};
  };

  Status check(int status, std::string_view call) const { return library_.check(status, call); }

  /// Records an MPI error, after which nothing may wait for all ranks any more.
  Status noted(Status status) {
    if (!status) process_.give_up();
    return status;
  }

  H type_of(DataType type) const { return handles_.types[*native_index(native_types, type)]; }

  /// Calls `use` with the elements of a block: as they are, as bytes if MPI lacks the type, or as
  /// one element of a derived type if there are too many for an int.
  template <typename Use>
  Status with_elements(DataType type, std::size_t count, Use use) {
    const bool native = native_index(native_types, type).has_value();
    const H element = native ? type_of(type) : handles_.byte;
    const std::size_t size = native ? size_of(type) : 1;
    const std::size_t n = native ? count : count * size_of(type);
    if (n <= largest_) return use(Elements{static_cast<int>(n), element});
    const std::size_t chunks = n / largest_, rest = n % largest_;
    if (chunks > largest_) {
      return Error{ErrorKind::unsupported, fmt::format("{} elements are too many for MPI", count)};
    }
    H chunk{}, whole{};
    TRY(check(api_.contiguous(static_cast<int>(largest_), element, &chunk), "MPI_Type_contiguous"));
    const std::array<int, 2> lengths = {static_cast<int>(chunks), static_cast<int>(rest)};
    const std::array<std::ptrdiff_t, 2> offsets = {
        0, static_cast<std::ptrdiff_t>(chunks * largest_ * size)};
    const std::array<H, 2> types = {chunk, element};
    Status status = check(
        api_.create_struct(rest > 0 ? 2 : 1, lengths.data(), offsets.data(), types.data(), &whole),
        "MPI_Type_create_struct");
    api_.free_type(&chunk);  // `whole` keeps its own reference
    TRY(std::move(status));
    status = check(api_.commit(&whole), "MPI_Type_commit");
    if (status) status = use(Elements{1, whole});
    api_.free_type(&whole);
    return status;
  }

  /// Calls `use` for consecutive parts, with offset in bytes and count, which together cover
  /// `count` elements.
  template <typename Use>
  Status in_parts(DataType type, std::size_t count, Use use) const {
    for (std::size_t done = 0; done < count; done += largest_) {
      TRY(use(done * size_of(type), static_cast<int>(std::min(largest_, count - done))));
    }
    return {};
  }

  Status copy(void* to, const void* from, std::size_t bytes, Stream& stream) const {
    if (to == from) return {};
    if (has_host_memory(device_)) {
      std::memcpy(to, from, bytes);
      return {};
    }
    TRY(stream.copy(to, from, bytes));
    return stream.synchronize();
  }

  Result<std::byte*> scratch(std::size_t bytes) {
    if (scratch_.bytes() < bytes) scratch_ = TRY(device_.allocate(bytes, MemoryKind::device));
    return scratch_.as<std::byte>();
  }

  Status operate(const CollectiveCall& call, Stream& stream) {
    const std::size_t block = call.count * size_of(call.type);
    const auto* from = static_cast<const std::byte*>(call.send);
    auto* to = static_cast<std::byte*>(call.receive);
    const std::size_t mine = static_cast<std::size_t>(rank_) * block;
    const bool is_root = rank_ == call.root;
    const void* here = handles_.in_place;
    switch (call.operation) {
      case CollectiveOperation::all_reduce:
      case CollectiveOperation::reduce:
      case CollectiveOperation::reduce_scatter:
        return reduce(call, block, stream);
      case CollectiveOperation::broadcast:
        if (is_root) TRY(copy(to, from, block, stream));
        return with_elements(call.type, call.count, [&](Elements all) {
          return check(api_.bcast(to, all.count, all.type, call.root, comm_), "MPI_Bcast");
        });
      case CollectiveOperation::all_gather:
        return with_elements(call.type, call.count, [&](Elements each) {
          return check(api_.all_gather(from == to + mine ? here : from, each.count, each.type, to,
                                       each.count, each.type, comm_),
                       "MPI_Allgather");
        });
      case CollectiveOperation::all_to_all:
        return with_elements(call.type, call.count, [&](Elements each) {
          return check(
              api_.all_to_all(from, each.count, each.type, to, each.count, each.type, comm_),
              "MPI_Alltoall");
        });
      case CollectiveOperation::gather:
        return with_elements(call.type, call.count, [&](Elements each) {
          return check(api_.gather(is_root && from == to + mine ? here : from, each.count,
                                   each.type, to, each.count, each.type, call.root, comm_),
                       "MPI_Gather");
        });
      case CollectiveOperation::scatter:
        return with_elements(call.type, call.count, [&](Elements each) {
          return check(api_.scatter(from, each.count, each.type,
                                    is_root && to == from + mine ? handles_.in_place : to,
                                    each.count, each.type, call.root, comm_),
                       "MPI_Scatter");
        });
      case CollectiveOperation::send_recv: {
        const Message send = {(rank_ + 1) % ranks_, const_cast<std::byte*>(from), block};
        const Message receive = {(rank_ + ranks_ - 1) % ranks_, to, block};
        return exchange({&send, 1}, {&receive, 1});
      }
    }
    return {};
  }

  Status reduce(const CollectiveCall& call, std::size_t block, Stream& stream) {
    const H type = type_of(call.type);
    const H op = handles_.reductions[*native_index(native_reductions, call.reduction)];
    const auto* from = static_cast<const std::byte*>(call.send);
    auto* to = static_cast<std::byte*>(call.receive);
    const auto to_root = [&](const std::byte* data, std::byte* result, int root) {
      return in_parts(call.type, call.count, [&](std::size_t at, int count) {
        const void* send = rank_ == root && data == result ? handles_.in_place : data + at;
        return check(api_.reduce(send, result + at, count, type, op, root, comm_), "MPI_Reduce");
      });
    };
    if (call.operation == CollectiveOperation::reduce) {
      // MPICH 4.0 and 4.1 and their derivatives crash in place at any root but 0 (issue 6540).
      const bool crashes = std::is_same_v<H, MpichHandle> && from == to && call.root != 0;
      std::byte* result = crashes && rank_ == call.root ? TRY(scratch(block)) : to;
      TRY(to_root(from, result, call.root));
      return rank_ == call.root ? copy(to, result, block, stream) : Status();
    }
    if (call.operation == CollectiveOperation::all_reduce) {
      return in_parts(call.type, call.count, [&](std::size_t at, int count) {
        return check(api_.all_reduce(from == to ? handles_.in_place : from + at, to + at, count,
                                     type, op, comm_),
                     "MPI_Allreduce");
      });
    }
    // MPI's in-place mode expects the result elsewhere, and MPI's buffers must not overlap.
    const bool in_place = to == from + static_cast<std::size_t>(rank_) * block;
    std::byte* result = in_place ? TRY(scratch(block)) : to;
    if (call.count <= largest_) {
      TRY(check(api_.reduce_scatter(from, result, static_cast<int>(call.count), type, op, comm_),
                "MPI_Reduce_scatter_block"));
    } else {
      for (int root = 0; root < ranks_; ++root) {
        TRY(to_root(from + static_cast<std::size_t>(root) * block, result, root));
      }
    }
    return copy(to, result, block, stream);
  }

  /// Messages longer than MPI's int count are split equally on both sides.
  Status exchange(std::span<const Message> sends, std::span<const Message> receives) {
    std::vector<H> requests;
    const auto each = [&](std::span<const Message> messages, auto start) -> Status {
      for (const Message& message : messages) {
        auto* data = static_cast<std::byte*>(message.data);
        TRY(in_parts(DataType::u8, message.bytes, [&](std::size_t at, int bytes) {
          return start(data + at, bytes, message.peer, &requests.emplace_back());
        }));
      }
      return {};
    };
    TRY(each(receives, [&](std::byte* data, int bytes, int peer, H* request) {
      return check(api_.irecv(data, bytes, handles_.byte, peer, 0, comm_, request), "MPI_Irecv");
    }));
    TRY(each(sends, [&](std::byte* data, int bytes, int peer, H* request) {
      return check(api_.isend(data, bytes, handles_.byte, peer, 0, comm_, request), "MPI_Isend");
    }));
    return check(
        api_.wait_all(static_cast<int>(requests.size()), requests.data(), handles_.statuses_ignore),
        "MPI_Waitall");
  }

  Process& process_;
  const Library<H>& library_;
  const Functions<H>& api_;
  const NativeHandles<H>& handles_;
  Device& device_;
  H comm_;
  bool frees_;
  Team& team_;
  std::unique_ptr<Team> owned_;
  int rank_, ranks_;
  std::size_t largest_;
  Buffer scratch_;
};

/// Returns whether MPI can access this device's memory.
template <typename H>
Status check_memory(const Library<H>& library, const Device& device) {
  if (has_host_memory(device)) return {};
  const bool hip = device.facts().is_amd();
  int (*const query)() = hip ? library.functions.rocm_support : library.functions.cuda_support;
  if (query != nullptr && query() == 1) return {};
  return Error{ErrorKind::unsupported,
               fmt::format("{} does not report support for memory of {} GPUs ({}): choose {}, or "
                           "an MPI built with it",
                           library.name, hip ? "AMD" : "NVIDIA",
                           hip ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support",
                           hip ? "rccl" : "nccl")};
}

/// Checks each rank's preconditions before all continue together. Returns its rank in MPI.
Result<std::string> prepare(const Device& device, const Team& team) {
  const Process* process = TRY(Process::get());
  TRY(std::visit([&](const auto& library) { return check_memory(library, device); },
                 process->library()));
  if (process->size() == team.size()) return std::to_string(process->rank());
  return Error{ErrorKind::unavailable,
               fmt::format("MPI has {} processes but the team has {} ranks: start all ranks, and "
                           "nothing else, with one mpirun",
                           process->size(), team.size())};
}

/// `same_order`: the ranks in MPI are those of the team.
template <typename H>
Result<std::unique_ptr<Communicator>> open(Process& process, const Library<H>& library,
                                           Device& device, Team& team, bool same_order,
                                           std::size_t largest) {
  // Uses the world itself if possible: with a communicator derived from it, Open MPI progresses
  // non-blocking collectives at every step from then on.
  H comm = library.handles.world;
  if (!same_order) {
    TRY(library.check(library.functions.split(library.handles.world, 0, team.rank(), &comm),
                      "MPI_Comm_split"));
    TRY(library.check(library.functions.set_error_handler(comm, library.handles.errors_return),
                      "MPI_Comm_set_errhandler"));
  }
  return std::unique_ptr<Communicator>(std::make_unique<MpiCommunicator<H>>(
      process, library, device, comm, !same_order, team, nullptr, largest));
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_communicator(Device& device, Team& team,
                                                        const CommunicatorConfig& config,
                                                        std::size_t largest_count) {
  TRY(check_config(config));
  const std::vector<std::string> in_mpi =
      TRY(exchange_or_fail(team, "a communicator of MPI", prepare(device, team)));
  bool same_order = true;
  for (std::size_t rank = 0; rank < in_mpi.size(); ++rank) {
    same_order = same_order && in_mpi[rank] == std::to_string(rank);
  }
  Process* process = TRY(Process::get());
  auto made = std::visit(
      [&](const auto& library) {
        return open(*process, library, device, team, same_order, largest_count);
      },
      process->library());
  if (!made) process->give_up();
  return made;
}

}  // namespace assay::mpi
