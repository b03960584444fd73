// Sums, scattered sums and gathers of ranks on one host through the memory of each other's devices,
// by assay's own kernels and the devices' copy engines. Small sums take one kernel, in which ranks
// write to each other and add up. Of large ones each rank gets its block from all others, adds it
// up and copies the sum to them: what crosses links moves by copy engines, so that multiprocessors
// are left to kernels that run meanwhile. Large ones are cut into chunks, one of which crosses the
// links while another is added up.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "compute/device/helpers.h"
#include "ranks/collective/communicator.h"
#include "ranks/collective/communicator_checks.h"
#include "ranks/collective/peer_windows.h"

namespace assay::peer_communicator {
namespace {

constexpr int most_ranks = 16;
constexpr std::size_t small_bytes = 512 << 10;       // of a sum in one kernel
constexpr std::size_t small_slot = 2 * small_bytes;  // each word of it comes with a number
/// Of the slots for large ones, of all ranks together. On CPUs a copy is a loop over caches.
constexpr std::size_t region_bytes = 192 << 20, host_region_bytes = 4 << 20;
/// Of slots, which chunks use in turn: while one is written, another may still be read.
constexpr std::size_t slot_sets = 3;
/// What is larger is cut into chunks, but into few: each is added up by a kernel, which waits for
/// multiprocessors while others compute.
constexpr std::size_t whole_bytes = 16 << 20;
constexpr std::size_t unit = 256;  // bytes; slots and blocks of large sums begin there

std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

/// Where things lie in a window, bytes. Slots are by rank.
struct WindowLayout {
  std::size_t small;     ///< two sets of slots for sums in one kernel
  std::size_t summands;  ///< sets of slots for blocks that this rank adds up
  std::size_t gathered;  ///< sets of slots for blocks that the other ranks have
  std::size_t slot;      ///< bytes of a slot of the latter two
  std::size_t all;

  WindowLayout(std::size_t ranks, std::size_t region)
      : small(round_up(most_ranks * sizeof(std::uint32_t), 4096)),
        summands(small + 2 * ranks * small_slot),
        gathered(0),
        slot(region / slot_sets / ranks / unit * unit),
        all(0) {
    gathered = summands + slot_sets * ranks * slot;
    all = gathered + slot_sets * ranks * slot;
  }
};

/// A part of a rank's memory.
struct Block {
  std::size_t offset, bytes;
};

/// What all ranks have together, cut into chunks of which each rank has a block.
class Chunks {
 public:
  /// `most`: bytes of a block of a chunk, a multiple of `unit`.
  Chunks(const CollectiveCall& call, std::size_t ranks, std::size_t most)
      : bytes_(call.count * size_of(call.type)),
        ranks_(ranks),
        of_one_vector_(call.operation == CollectiveOperation::all_reduce) {
    if (of_one_vector_) most *= ranks;
    const std::size_t all = of_one_vector_ ? bytes_ : ranks * bytes_;
    count_ = std::max<std::size_t>(all > whole_bytes ? 2 : 1, (bytes_ + most - 1) / most);
    step_ = round_up((bytes_ + count_ - 1) / count_, unit);
  }

  std::size_t count() const { return count_; }
  Block block(std::size_t chunk, int rank) const {
    const std::size_t r = static_cast<std::size_t>(rank);
    const std::size_t begin = std::min(bytes_, chunk * step_);
    const std::size_t all = std::min(step_, bytes_ - begin);
    if (!of_one_vector_) return {r * bytes_ + begin, all};
    const std::size_t block = round_up((all + ranks_ - 1) / ranks_, unit);
    const std::size_t from = std::min(all, r * block);
    return {begin + from, std::min(block, all - from)};
  }

 private:
  std::size_t bytes_, ranks_, count_ = 0, step_ = 0;
  bool of_one_vector_;
};

class PeerCommunicator final : public Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> open(Device& device, Team& team,
                                                    std::unique_ptr<Team> owned,
                                                    const CommunicatorConfig& config) {
    TRY(check_config(config));
    if (team.size() > most_ranks) {
      return Error{
          ErrorKind::unsupported,
          fmt::format("peer has room for {} ranks; this run has {}", most_ranks, team.size())};
    }
    std::unique_ptr<PeerCommunicator> made(new PeerCommunicator(device, team, std::move(owned)));
    TRY(made->allocate());
    return std::unique_ptr<Communicator>(std::move(made));
  }

  std::string library() const override { return "assay's peer memory"; }
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  bool queues_on_stream() const override { return true; }

  std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                         Reduction reduction) const override {
    using enum CollectiveOperation;
    if (auto reason = no_type_of_memory(type)) return reason;
    if (operation == all_gather) return std::nullopt;
    if (operation != all_reduce && operation != reduce_scatter) {
      return fmt::format("peer has all_reduce, reduce_scatter and all_gather, and no {}",
                         name_of(operation));
    }
    const bool adds = type == DataType::f32 || type == DataType::bf16 || type == DataType::f16;
    if (reduction != Reduction::sum || !adds) {
      return fmt::format("peer adds up f32, bf16 and f16; it has no {} of {}", name_of(reduction),
                         name_of(type));
    }
    return std::nullopt;
  }

  Status run(const CollectiveCall& call, Stream& stream) override {
    TRY(check_supported(*this, call));
    TRY(status());
    const std::size_t bytes = bytes_of(call);
    if (bytes == 0) return {};
    const bool small = call.operation == CollectiveOperation::all_reduce && bytes <= small_bytes;
    return small ? sum_at_once(call, stream) : exchange(call, stream);
  }
  Status enqueue(const CollectiveCall& call, Stream& stream) override { return run(call, stream); }

  Status transfer(std::span<const Message>, std::span<const Message>, Stream&) override {
    return Error{ErrorKind::unsupported, "peer has no messages between two ranks"};
  }
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) override {
    return transfer(sends, receives, stream);
  }

  Status status() const override {
    if (stop_word().load() == 0) return {};
    return Error{ErrorKind::failed, "the exchange between ranks was ended"};
  }

  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override {
    auto part = TRY(split_team(team_, colour, key));
    Team& ranks = *part;
    auto made = TRY(open(device_, ranks, std::move(part), config));
    if (colour < 0) made = nullptr;
    return made;
  }

  void abort() override { stop_word().store(1); }

 private:
  PeerCommunicator(Device& device, Team& team, std::unique_ptr<Team> owned)
      : device_(device),
        team_(team),
        owned_(std::move(owned)),
        rank_(team.rank()),
        ranks_(team.size()),
        layout_(static_cast<std::size_t>(ranks_),
                device.facts().runs_on_host ? host_region_bytes : region_bytes) {}

  Status allocate() {
    const auto stream = TRY(device_.create_stream());
    windows_ = TRY(PeerWindows::open(device_, *stream, team_, layout_.all));
    program_ = TRY(device_.build({"peer_exchange", {}}));
    meeting_ = TRY(program_->kernel("peer_meeting"));
    counts_ = TRY(device_.allocate(3 * sizeof(std::uint32_t), MemoryKind::device));
    TRY(stream->fill(counts_.data(), 0, counts_.bytes()));
    stop_ = TRY(device_.allocate(sizeof(std::uint32_t), MemoryKind::pinned));
    stop_word().store(0);
    for (int other = 1; ranks_ > 2 && other < ranks_; ++other) {
      lanes_.push_back({TRY(device_.create_stream(StreamPriority::high)),
                        TRY(device_.create_event(EventKind::untimed))});
    }
    links_ = TRY(device_.create_stream(StreamPriority::high));
    for (auto* event : {&begun_, &ready_, &sent_, &read_[0], &read_[1]}) {
      *event = TRY(device_.create_event(EventKind::untimed));
    }
    return stream->synchronize();
  }

  /// All ranks come here before any goes on.
  Status meet(Stream& stream) {
    return launch(stream, *meeting_, {{1}, {32}}, windows_->addresses_on_device(), counts_.data(),
                  stop_.data(), unsigned_rank(), unsigned_ranks());
  }

  Status sum_at_once(const CollectiveCall& call, Stream& stream) {
    LaunchShape shape = shape_of_sum(call.count);
    // Each block waits for other ranks: on a CPU one thread is enough for that.
    if (device_.facts().runs_on_host) shape.grid = {1};
    return launch(stream, *TRY(kernel("peer_all_reduce", call.type)), shape, call.receive,
                  call.send, std::uint64_t{call.count}, std::uint64_t{layout_.small},
                  std::uint64_t{small_slot}, counts_.as<std::uint32_t>() + 1,
                  windows_->addresses_on_device(), stop_.data(), unsigned_rank(), unsigned_ranks());
  }

  /// Chunks take turns: while one crosses links, the one before it is added up. In each turn a rank
  /// sends others their blocks of one chunk and its own sums of the chunk before; then all ranks
  /// meet. What it sends in turn t lies in the set of slots that turn t - 3 used: it is sent after
  /// this rank's meeting of turn t - 2, and the others came to that after they had read the set.
  Status exchange(const CollectiveCall& call, Stream& stream) {
    const bool adds = call.operation != CollectiveOperation::all_gather;
    const bool spreads = call.operation != CollectiveOperation::reduce_scatter;
    const Chunks chunks(call, static_cast<std::size_t>(ranks_), layout_.slot);
    const std::size_t delay = adds && spreads ? 1 : 0;  // from sending a chunk to its sums
    // A call leaves blocks in slots that only ranks which meet once more have surely read.
    if (!adds) TRY(meet(stream));
    TRY(stream.record(*begun_));
    TRY(links_->wait(*begun_));
    for (std::size_t turn = 0; turn < chunks.count() + delay; ++turn) {
      const bool sends = adds && turn < chunks.count();
      const bool returns = spreads && turn >= delay;
      if (turn >= 2) TRY(links_->wait(*read_[turn % 2]));
      if (sends) TRY(send_blocks(call, chunks, turn));
      if (returns) {
        if (delay > 0) TRY(links_->wait(*read_[(turn - 1) % 2]));
        TRY(send_own(call, chunks, turn - delay));
      }
      TRY(links_->record(*sent_));
      TRY(stream.wait(*sent_));
      TRY(meet(stream));
      if (sends) TRY(add_up(call, chunks, turn, stream));
      TRY(stream.record(*read_[turn % 2]));
      if (returns) TRY(take_others(call, chunks, turn - delay, stream));
    }
    if (!spreads) TRY(meet(stream));  // as above
    return adds ? Status() : take_own(call, stream);
  }

  /// The other ranks' blocks of what this one has, to be added up.
  Status send_blocks(const CollectiveCall& call, const Chunks& chunks, std::size_t chunk) {
    return copy_to_others([&](int other) {
      const Block block = chunks.block(chunk, other);
      return Copy{slot(other, layout_.summands, chunk, rank_), at(call.send, block.offset),
                  block.bytes};
    });
  }
  Status add_up(const CollectiveCall& call, const Chunks& chunks, std::size_t chunk,
                Stream& stream) {
    const Block own = chunks.block(chunk, rank_);
    if (own.bytes == 0) return {};
    const std::size_t count = own.bytes / size_of(call.type);
    return launch(stream, *TRY(kernel("peer_sum", call.type)), shape_of_sum(count),
                  at(call.receive, own.offset - own_begin(call)), at(call.send, own.offset),
                  slot(rank_, layout_.summands, chunk, 0), std::uint64_t{layout_.slot},
                  std::uint64_t{count}, unsigned_rank(), unsigned_ranks());
  }
  /// This rank's block, added up or its own, to all others.
  Status send_own(const CollectiveCall& call, const Chunks& chunks, std::size_t chunk) {
    const bool added = call.operation == CollectiveOperation::all_reduce;
    const void* const held = added ? call.receive : call.send;
    const Block own = chunks.block(chunk, rank_);
    const std::byte* const from = at(held, own.offset - own_begin(call));
    return copy_to_others([&](int other) {
      return Copy{slot(other, layout_.gathered, chunk, rank_), from, own.bytes};
    });
  }
  Status take_others(const CollectiveCall& call, const Chunks& chunks, std::size_t chunk,
                     Stream& stream) {
    for (int other = 0; other < ranks_; ++other) {
      const Block block = chunks.block(chunk, other);
      if (other == rank_ || block.bytes == 0) continue;
      TRY(stream.copy(at(call.receive, block.offset), slot(rank_, layout_.gathered, chunk, other),
                      block.bytes));
    }
    return {};
  }
  /// Of a gather.
  Status take_own(const CollectiveCall& call, Stream& stream) {
    std::byte* const own = at(call.receive, own_begin(call));
    return own == call.send ? Status() : stream.copy(own, call.send, bytes_of(call));
  }

  /// Where this rank's block begins in what all have, if its own memory holds only that block.
  std::size_t own_begin(const CollectiveCall& call) const {
    const bool whole = call.operation == CollectiveOperation::all_reduce;
    return whole ? 0 : static_cast<std::size_t>(rank_) * bytes_of(call);
  }
  static std::size_t bytes_of(const CollectiveCall& call) {
    return call.count * size_of(call.type);
  }

  struct Copy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };
  /// Copies to several ranks go side by side: each may have a link of its own.
  template <typename CopyTo>
  Status copy_to_others(CopyTo copy_to) {
    const bool side_by_side = !lanes_.empty();
    if (side_by_side) TRY(links_->record(*ready_));
    for (int distance = 1; distance < ranks_; ++distance) {
      const Copy copy = copy_to((rank_ + distance) % ranks_);
      if (copy.bytes == 0) continue;
      if (!side_by_side) {
        TRY(links_->copy(copy.to, copy.from, copy.bytes));
        continue;
      }
      const Lane& lane = lanes_[static_cast<std::size_t>(distance) - 1];
      TRY(lane.stream->wait(*ready_));
      TRY(lane.stream->copy(copy.to, copy.from, copy.bytes));
      TRY(lane.stream->record(*lane.done));
      TRY(links_->wait(*lane.done));
    }
    return {};
  }

  LaunchShape shape_of_sum(std::size_t count) const {
    constexpr std::size_t block_threads = 256, pack = 8, per_processor = 4;
    const auto processors = static_cast<std::size_t>(std::max(1, device_.facts().multiprocessors));
    const std::size_t packs = (count + pack - 1) / pack;
    const std::size_t blocks = (packs + block_threads - 1) / block_threads;
    return {{static_cast<unsigned>(std::min(blocks, per_processor * processors))}, {block_threads}};
  }

  Result<Kernel*> kernel(std::string_view name, DataType type) {
    return program_->kernel(fmt::format("{}_{}", name, name_of(type)));
  }
  /// That of `rank` in a window, in the set that a chunk uses.
  std::byte* slot(int window, std::size_t region, std::size_t chunk, int rank) const {
    const std::size_t number =
        chunk % slot_sets * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank);
    return windows_->of(window) + region + number * layout_.slot;
  }
  static std::byte* at(void* memory, std::size_t offset) {
    return static_cast<std::byte*>(memory) + offset;
  }
  static const std::byte* at(const void* memory, std::size_t offset) {
    return static_cast<const std::byte*>(memory) + offset;
  }
  /// Kernels read it, and another thread may write it.
  std::atomic_ref<std::uint32_t> stop_word() const {
    return std::atomic_ref<std::uint32_t>(*stop_.as<std::uint32_t>());
  }
  std::uint32_t unsigned_rank() const { return static_cast<std::uint32_t>(rank_); }
  std::uint32_t unsigned_ranks() const { return static_cast<std::uint32_t>(ranks_); }

  struct Lane {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> done;
  };

  Device& device_;
  Team& team_;
  const std::unique_ptr<Team> owned_;
  const int rank_, ranks_;
  const WindowLayout layout_;
  std::unique_ptr<PeerWindows> windows_;
  std::unique_ptr<Program> program_;
  Kernel* meeting_ = nullptr;
  Buffer counts_;  // u32: meetings, small sums, blocks that have begun the current one
  Buffer stop_;    // u32: not 0 once nobody is waited for
  std::unique_ptr<Stream> links_;  // of what crosses them
  std::vector<Lane> lanes_;        // one for each other rank, where there are several
  // Each is recorded in one stream alone: HIP crashes after a capture in which it was not.
  std::unique_ptr<Event> begun_;         // in the caller's: `links_` may begin
  std::unique_ptr<Event> ready_, sent_;  // in `links_`: lanes may begin; a turn's copies are done
  std::array<std::unique_ptr<Event>, 2> read_;  // in the caller's: what came in a turn; in turns
};

const CommunicatorRegistry::Add registered{
    {"peer", "assay's own, through the memory of the other devices of a host",
     [](const Device&, const Team&) { return 5; },
     [](Device& device, Team& team, const CommunicatorConfig& config) {
       return PeerCommunicator::open(device, team, nullptr, config);
     }}};

}  // namespace
}  // namespace assay::peer_communicator
