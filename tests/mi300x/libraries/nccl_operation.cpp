#include "libraries/nccl_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "libraries/hooks.h"
#include "ranks/collective/local_reduction.h"

namespace mi300x {
namespace {

constexpr const char* kind_names[] = {"all-reduce", "reduce",     "reduce-scatter",
                                      "broadcast",  "all-gather", "all-to-all",
                                      "gather",     "scatter",    "sends and receives"};

/// What a rank sends to the others about its call.
struct Notice {
  NcclKind kind;
  std::size_t count;
  assay::DataType type;
  assay::Reduction op;
  int root;
  std::size_t messages;
  bool agrees(const Notice& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           root == other.root;
  }
};

std::string describe(const Notice& notice) {
  const std::string kind = kind_names[static_cast<int>(notice.kind)];
  if (notice.kind == NcclKind::messages) return kind;
  return fmt::format("{} of {} {}, root {}, reduction {}", kind, notice.count, name_of(notice.type),
                     notice.root, static_cast<int>(notice.op));
}

bool reduces(NcclKind kind) {
  return kind == NcclKind::all_reduce || kind == NcclKind::reduce ||
         kind == NcclKind::reduce_scatter;
}

class Operation {
 public:
  Operation(NcclWorld& world, const NcclCall& call)
      : world_(world),
        call_(call),
        ranks_(world.ranks()),
        me_(world.rank()),
        block_(call.count * size_of(call.type)) {}

  bool run(std::string& problem) {
    const bool done =
        compare_notices() && (call_.kind == NcclKind::messages ? pass_messages() : pass_blocks());
    if (!done) problem = problem_.empty() ? world_.problem() : problem_;
    return done;
  }

 private:
  bool compare_notices() {
    const Notice mine = {call_.kind, call_.count, call_.type,
                         call_.op,   call_.root,  call_.messages.size()};
    show(&mine, sizeof mine);
    if (!world_.meet()) return false;
    std::vector<Notice> all(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      std::memcpy(&all[static_cast<std::size_t>(rank)], world_.window(rank).data(), sizeof mine);
    }
    if (!world_.meet()) return false;  // until all have read
    for (int rank = 1; rank < ranks_; ++rank) {
      const Notice& its = all[static_cast<std::size_t>(rank)];
      if (its.agrees(all[0])) continue;
      problem_ = fmt::format("rank 0 calls {}; rank {} {}", describe(all[0]), rank, describe(its));
      return false;
    }
    for (const Notice& notice : all) message_counts_.push_back(notice.messages);
    return true;
  }

  void show(const void* data, std::size_t bytes) {
    if (bytes > 0) std::memcpy(world_.window().data(), data, bytes);
  }

  // ---- Operations on blocks ----

  bool is_root() const { return me_ == call_.root; }

  /// Returns how many blocks a rank may show to the others.
  int blocks() const {
    const bool many = call_.kind == NcclKind::reduce_scatter ||
                      call_.kind == NcclKind::all_to_all || call_.kind == NcclKind::scatter;
    return many ? ranks_ : 1;
  }
  bool shows() const {
    const bool root_alone = call_.kind == NcclKind::broadcast || call_.kind == NcclKind::scatter;
    return !root_alone || is_root();
  }
  /// Returns whether this rank needs data from block `block`.
  bool takes(int block) const {
    switch (call_.kind) {
      case NcclKind::reduce:
      case NcclKind::gather:
        return is_root();
      case NcclKind::all_reduce:
      case NcclKind::broadcast:
      case NcclKind::all_gather:
        return true;
      default:
        return block == me_;
    }
  }

  /// Transfers each block in pieces that fit a window: all ranks show theirs, then read what they
  /// need.
  bool pass_blocks() {
    const auto* from = static_cast<const std::byte*>(call_.send);
    if (shows()) check_read(from, static_cast<std::size_t>(blocks()) * block_);
    check_target();
    const std::size_t piece = NcclWorld::window_bytes / 16 * 16;  // whole elements of any type
    for (int block = 0; block < blocks(); ++block) {
      for (std::size_t done = 0; done < block_; done += piece) {
        const std::size_t bytes = std::min(piece, block_ - done);
        if (shows()) show(from + static_cast<std::size_t>(block) * block_ + done, bytes);
        if (!world_.meet()) return false;
        if (takes(block)) take(done, bytes);
        if (!world_.meet()) return false;
      }
    }
    return true;
  }

  void check_target() const {
    bool any = false;
    for (int block = 0; block < blocks(); ++block) any = any || takes(block);
    const bool many = call_.kind == NcclKind::gather || call_.kind == NcclKind::all_gather ||
                      call_.kind == NcclKind::all_to_all;
    if (any) check_write(call_.receive, (many ? static_cast<std::size_t>(ranks_) : 1) * block_);
  }

  void take(std::size_t done, std::size_t bytes) const {
    auto* to = static_cast<std::byte*>(call_.receive) + done;
    if (reduces(call_.kind)) {
      reduce_into(to, bytes);
    } else if (call_.kind == NcclKind::broadcast || call_.kind == NcclKind::scatter) {
      std::memcpy(to, world_.window(call_.root).data(), bytes);
    } else {
      for (int rank = 0; rank < ranks_; ++rank) {
        std::memcpy(to + static_cast<std::size_t>(rank) * block_, world_.window(rank).data(),
                    bytes);
      }
    }
  }

  void reduce_into(std::byte* to, std::size_t bytes) const {
    const std::size_t count = bytes / size_of(call_.type);
    std::memcpy(to, world_.window(0).data(), bytes);
    for (int rank = 1; rank < ranks_; ++rank) {
      assay::reduce_elements(call_.type, call_.op, to, to, world_.window(rank).data(), count);
    }
    if (call_.op == assay::Reduction::avg) assay::divide_elements(call_.type, to, ranks_, count);
  }

  // ---- Messages ----

  /// What a rank sends to the others about one of its messages.
  struct Label {
    bool sends;
    int peer;
    std::size_t bytes;
  };

  /// Exchanges the labels of all messages, so that each rank knows what is shown when.
  bool compare_labels() {
    const std::size_t most = NcclWorld::window_bytes / sizeof(Label);
    if (*std::max_element(message_counts_.begin(), message_counts_.end()) > most) {
      problem_ = fmt::format("a group of more than {} messages", most);
      return false;
    }
    std::vector<Label> mine;
    for (const NcclMessage& message : call_.messages) {
      if (message.peer < 0 || message.peer >= ranks_) {
        world_.abort(fmt::format("rank {} sends to rank {} of {}", me_, message.peer, ranks_));
        return false;
      }
      mine.push_back({message.sends, message.peer, message.bytes});
    }
    show(mine.data(), mine.size() * sizeof(Label));
    if (!world_.meet()) return false;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto* labels = reinterpret_cast<const Label*>(world_.window(rank).data());
      labels_.emplace_back(labels, labels + message_counts_[static_cast<std::size_t>(rank)]);
    }
    return world_.meet();
  }

  /// Returns the sizes of the messages from one rank to another, in order, according to one of the
  /// two.
  std::vector<std::size_t> told(int from, int to, bool by_sender) const {
    std::vector<std::size_t> bytes;
    for (const Label& label : labels_[static_cast<std::size_t>(by_sender ? from : to)]) {
      if (label.sends == by_sender && label.peer == (by_sender ? to : from)) {
        bytes.push_back(label.bytes);
      }
    }
    return bytes;
  }

  bool labels_agree() {
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        if (told(from, to, true) == told(from, to, false)) continue;
        problem_ = fmt::format("what rank {} sends to rank {} is not what that receives", from, to);
        return false;
      }
    }
    return true;
  }

  /// Every rank shows its sends one after the other, piece by piece; receivers follow the same
  /// count.
  bool pass_messages() {
    if (!compare_labels() || !labels_agree()) return false;
    for (const NcclMessage& message : call_.messages) {
      if (message.sends) check_read(message.data, message.bytes);
      if (!message.sends) check_write(message.data, message.bytes);
    }
    struct Cursor {
      std::size_t message = 0, done = 0;
      std::size_t bytes = 0;  ///< shown in this round
    };
    std::vector<Cursor> cursors(static_cast<std::size_t>(ranks_));
    std::vector<std::size_t> received(static_cast<std::size_t>(ranks_), 0);
    while (true) {
      bool any = false;
      for (int rank = 0; rank < ranks_; ++rank) {
        Cursor& at = cursors[static_cast<std::size_t>(rank)];
        const auto& labels = labels_[static_cast<std::size_t>(rank)];
        while (at.message < labels.size() &&
               (!labels[at.message].sends || at.done == labels[at.message].bytes)) {
          ++at.message;
          at.done = 0;
        }
        const bool more = at.message < labels.size();
        at.bytes = more ? std::min(labels[at.message].bytes - at.done, NcclWorld::window_bytes) : 0;
        any = any || more;
      }
      if (!any) return true;
      const Cursor& mine = cursors[static_cast<std::size_t>(me_)];
      if (mine.bytes > 0) {
        show(static_cast<const std::byte*>(call_.messages[mine.message].data) + mine.done,
             mine.bytes);
      }
      if (!world_.meet()) return false;
      for (int rank = 0; rank < ranks_; ++rank) {
        Cursor& at = cursors[static_cast<std::size_t>(rank)];
        if (at.bytes == 0) continue;
        if (labels_[static_cast<std::size_t>(rank)][at.message].peer == me_) {
          put(rank, received[static_cast<std::size_t>(rank)], at.bytes);
          received[static_cast<std::size_t>(rank)] += at.bytes;
        }
        at.done += at.bytes;
      }
      if (!world_.meet()) return false;
    }
  }

  /// Stores the next `bytes` from `rank`, after `before` bytes; a piece belongs to one message.
  void put(int rank, std::size_t before, std::size_t bytes) const {
    for (const NcclMessage& message : call_.messages) {
      if (message.sends || message.peer != rank) continue;
      if (before < message.bytes) {
        std::memcpy(static_cast<std::byte*>(message.data) + before, world_.window(rank).data(),
                    bytes);
        return;
      }
      before -= message.bytes;
    }
  }

  NcclWorld& world_;
  const NcclCall& call_;
  const int ranks_, me_;
  const std::size_t block_;
  std::vector<std::size_t> message_counts_;
  std::vector<std::vector<Label>> labels_;
  std::string problem_;
};

}  // namespace

double NcclCall::seconds(int ranks) const {
  constexpr double launch = 12e-6, link = 48e9;  // bandwidth of one of seven links to other GPUs
  const double n = ranks, links = std::clamp(ranks - 1, 1, 7);
  double bytes = static_cast<double>(count * size_of(type));
  for (const NcclMessage& message : messages) bytes += static_cast<double>(message.bytes);
  if (kind == NcclKind::all_reduce) bytes *= 2 * (n - 1) / n;
  if (kind == NcclKind::all_gather || kind == NcclKind::reduce_scatter ||
      kind == NcclKind::all_to_all || kind == NcclKind::gather || kind == NcclKind::scatter) {
    bytes *= n - 1;
  }
  return launch + bytes / (links * link);
}

bool perform(NcclWorld& world, const NcclCall& call, std::string& problem) {
  return Operation(world, call).run(problem);
}

}  // namespace mi300x
