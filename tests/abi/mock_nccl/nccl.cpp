// NCCL, or with MOCK_RCCL defined RCCL, between threads of one process and in the host's memory. An
// operation runs when its group ends and is complete when the call returns. It is strict: ranks
// whose calls differ get an error.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi/mock_nccl/mock_nccl.h"
#include "collective/local_reduction.h"

namespace {

struct Id {
  char bytes[128];
};

enum class Kind {
  all_reduce,
  reduce,
  reduce_scatter,
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter,
  messages
};

struct Point {
  bool sends;
  void* data;
  std::size_t bytes;
  int peer;
};

struct Call {
  Kind kind;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  int type = 0, op = 0, root = 0;
  std::vector<Point> points;

  bool agrees(const Call& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           root == other.root;
  }
};

constexpr int invalid_argument = 4, invalid_usage = 5;
constexpr std::array<assay::DataType, 12> types = {
    assay::DataType::i8,  assay::DataType::u8,   assay::DataType::i32,  assay::DataType::u32,
    assay::DataType::i64, assay::DataType::u64,  assay::DataType::f16,  assay::DataType::f32,
    assay::DataType::f64, assay::DataType::bf16, assay::DataType::e4m3, assay::DataType::e5m2};
constexpr std::array<assay::Reduction, 5> reductions = {
    assay::Reduction::sum, assay::Reduction::prod, assay::Reduction::max, assay::Reduction::min,
    assay::Reduction::avg};

/// The ranks of one identifier.
struct World {
  explicit World(int ranks) : calls(static_cast<std::size_t>(ranks)) {}

  /// Waits for all ranks; false if one aborted.
  bool meet(std::unique_lock<std::mutex>& lock) {
    const int now = round;
    if (++came == static_cast<int>(calls.size())) {
      came = 0;
      ++round;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return round != now || aborted; });
    return round != now;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const Call*> calls;
  int came = 0, round = 0;
  bool aborted = false;
};

struct Comm {
  std::shared_ptr<World> world;
  int rank;
};

std::mutex control;
std::map<std::string, int> calls_of, failures;
std::map<std::string, std::shared_ptr<World>> worlds;
int version = 22809, async_error = 0, live = 0, made = 0;
thread_local int depth = 0, last_type = -1;
thread_local std::vector<std::pair<Comm*, Call>> queued;

int entered(const char* function) {
  const std::lock_guard lock(control);
  ++calls_of[function];
  return std::exchange(failures[function], 0);
}

std::size_t bytes_of(const Call& call) {
  return call.count * assay::size_of(types[static_cast<std::size_t>(call.type)]);
}

/// What this rank finds in `receive` afterwards; empty: nothing is written.
std::vector<std::byte> result_of(const std::vector<const Call*>& all, int rank) {
  const Call& mine = *all[static_cast<std::size_t>(rank)];
  const std::size_t block = bytes_of(mine), n = all.size(), me = static_cast<std::size_t>(rank);
  std::vector<std::byte> out;
  const auto take = [&](std::size_t from, std::size_t index) {
    const auto* data = static_cast<const std::byte*>(all[from]->send) + index * block;
    out.insert(out.end(), data, data + block);
  };
  const auto reduce_block = [&](std::size_t index) {
    take(0, index);
    const auto type = types[static_cast<std::size_t>(mine.type)];
    const auto op = reductions[static_cast<std::size_t>(mine.op)];
    for (std::size_t other = 1; other < n; ++other) {
      assay::reduce_elements(type, op, out.data(), out.data(),
                             static_cast<const std::byte*>(all[other]->send) + index * block,
                             mine.count);
    }
    if (op == assay::Reduction::avg) {
      assay::divide_elements(type, out.data(), static_cast<int>(n), mine.count);
    }
  };
  const bool is_root = rank == mine.root;
  switch (mine.kind) {
    case Kind::all_reduce:
      reduce_block(0);
      break;
    case Kind::reduce:
      if (is_root) reduce_block(0);
      break;
    case Kind::reduce_scatter:
      reduce_block(me);
      break;
    case Kind::broadcast:
      take(static_cast<std::size_t>(mine.root), 0);
      break;
    case Kind::scatter:
      take(static_cast<std::size_t>(mine.root), me);
      break;
    case Kind::gather:
    case Kind::all_gather:
      for (std::size_t other = 0; (is_root || mine.kind == Kind::all_gather) && other < n;
           ++other) {
        take(other, 0);
      }
      break;
    case Kind::all_to_all:
      for (std::size_t other = 0; other < n; ++other) take(other, me);
      break;
    case Kind::messages:
      break;
  }
  return out;
}

/// The sends of `from` to `to`, or what `to` receives from `from`, in order.
std::vector<Point> between(const std::vector<const Call*>& all, int from, int to, bool sends) {
  std::vector<Point> points;
  for (const Point& point : all[static_cast<std::size_t>(sends ? from : to)]->points) {
    if (point.sends == sends && point.peer == (sends ? to : from)) points.push_back(point);
  }
  return points;
}

int run(Comm& comm, const Call& call) {
  World& world = *comm.world;
  std::unique_lock lock(world.mutex);
  world.calls[static_cast<std::size_t>(comm.rank)] = &call;
  if (!world.meet(lock)) return 6;
  const std::vector<const Call*> all = world.calls;
  const int ranks = static_cast<int>(all.size());
  bool agree = std::all_of(all.begin(), all.end(), [&](const Call* c) { return c->agrees(call); });
  std::vector<std::byte> result;
  std::vector<std::pair<Point, std::vector<std::byte>>> messages;
  if (agree && call.kind != Kind::messages) result = result_of(all, comm.rank);
  for (int from = 0; agree && call.kind == Kind::messages && from < ranks; ++from) {
    const auto sends = between(all, from, comm.rank, true);
    const auto receives = between(all, from, comm.rank, false);
    agree = sends.size() == receives.size();
    for (std::size_t i = 0; agree && i < sends.size(); ++i) {
      agree = sends[i].bytes == receives[i].bytes;
      const auto* data = static_cast<const std::byte*>(sends[i].data);
      messages.emplace_back(receives[i], std::vector<std::byte>(data, data + sends[i].bytes));
    }
  }
  if (!world.meet(lock)) return 6;  // all have read
  if (agree) {
    if (!result.empty()) std::memcpy(call.receive, result.data(), result.size());
    for (const auto& [point, bytes] : messages) {
      if (!bytes.empty()) std::memcpy(point.data, bytes.data(), bytes.size());
    }
  }
  if (!world.meet(lock)) return 6;  // all have written: `call` may go
  return agree ? 0 : invalid_usage;
}

int queue(const char* function, void* comm, Call call) {
  if (const int failure = entered(function)) return failure;
  if (comm == nullptr || call.type < 0 || call.type >= static_cast<int>(types.size()) ||
      call.op < 0 || call.op >= static_cast<int>(reductions.size())) {
    return invalid_argument;
  }
  last_type = call.type;
  if (depth == 0) return run(*static_cast<Comm*>(comm), call);
  queued.emplace_back(static_cast<Comm*>(comm), std::move(call));
  return 0;
}

int queue_point(const char* function, void* comm, Point point, std::size_t count, int type) {
  if (const int failure = entered(function)) return failure;
  if (type < 0 || type >= static_cast<int>(types.size())) return invalid_argument;
  if (depth == 0) return invalid_usage;  // it would wait for its peer for ever
  last_type = type;
  point.bytes = count * assay::size_of(types[static_cast<std::size_t>(type)]);
  const bool joins = !queued.empty() && queued.back().second.kind == Kind::messages;
  if (!joins)
    queued.emplace_back(static_cast<Comm*>(comm), Call{.kind = Kind::messages, .points = {}});
  queued.back().second.points.push_back(point);
  return 0;
}

int leave(const char* function, void* comm, bool abort) {
  const int failure = entered(function);
  const std::unique_ptr<Comm> owned(static_cast<Comm*>(comm));
  {
    const std::lock_guard lock(control);
    --live;
  }
  if (abort) {
    const std::lock_guard lock(owned->world->mutex);
    owned->world->aborted = true;
    owned->world->changed.notify_all();
  }
  return failure;
}

}  // namespace

#define QUEUE(kind, send, receive, op, root) \
  queue(__func__, comm, {Kind::kind, send, receive, count, type, op, root, {}})

extern "C" {

int ncclGetVersion(int* out) {
  *out = version;
  return entered(__func__);
}
const char* ncclGetErrorString(int status) {
  return status == invalid_usage ? "invalid usage" : "mock error";
}
const char* ncclGetLastError(void*) {
  return "the mock's last words";
}
int ncclGetUniqueId(Id* id) {
  const std::string text = "mock " + std::to_string(++made);
  std::memset(id->bytes, 0x80 + made, sizeof(id->bytes));  // every byte has to arrive
  std::memcpy(id->bytes, text.c_str(), text.size() + 1);
  return entered(__func__);
}
int ncclCommInitRank(void** comm, int ranks, Id id, int rank) {
  if (const int failure = entered(__func__)) return failure;
  const std::string key(id.bytes, sizeof(id.bytes));
  std::shared_ptr<World> world;
  {
    const std::lock_guard lock(control);
    std::shared_ptr<World>& known = worlds[key];
    if (!known) known = std::make_shared<World>(ranks);
    world = known;
    ++live;
  }
  std::unique_lock lock(world->mutex);
  world->meet(lock);
  *comm = new Comm{world, rank};
  return 0;
}
int ncclCommDestroy(void* comm) {
  return leave(__func__, comm, false);
}
int ncclCommAbort(void* comm) {
  return leave(__func__, comm, true);
}
int ncclCommGetAsyncError(void*, int* status) {
  const std::lock_guard lock(control);
  *status = async_error;
  return 0;
}
int ncclGroupStart() {
  ++depth;
  return entered(__func__);
}
int ncclGroupEnd() {
  if (depth == 0) return invalid_usage;
  if (--depth > 0) return entered(__func__);
  int status = entered(__func__);
  for (const auto& [comm, call] : std::exchange(queued, {})) {
    if (status == 0) status = run(*comm, call);
  }
  return status;
}
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, void* comm,
                  void*) {
  return QUEUE(all_reduce, send, receive, op, 0);
}
int ncclReduce(const void* send, void* receive, std::size_t count, int type, int op, int root,
               void* comm, void*) {
  return QUEUE(reduce, send, receive, op, root);
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int op,
                      void* comm, void*) {
  return QUEUE(reduce_scatter, send, receive, op, 0);
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                  void* comm, void*) {
  return QUEUE(broadcast, send, receive, 0, root);
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int type, void* comm, void*) {
  return QUEUE(all_gather, send, receive, 0, 0);
}
#if defined(MOCK_RCCL)
int ncclAllToAll(const void* send, void* receive, std::size_t count, int type, void* comm, void*) {
#else
int ncclAlltoAll(const void* send, void* receive, std::size_t count, int type, void* comm, void*) {
#endif
  return QUEUE(all_to_all, send, receive, 0, 0);
}
int ncclGather(const void* send, void* receive, std::size_t count, int type, int root, void* comm,
               void*) {
  return QUEUE(gather, send, receive, 0, root);
}
int ncclScatter(const void* send, void* receive, std::size_t count, int type, int root, void* comm,
                void*) {
  return QUEUE(scatter, send, receive, 0, root);
}
int ncclSend(const void* data, std::size_t count, int type, int peer, void* comm, void*) {
  return queue_point(__func__, comm, {true, const_cast<void*>(data), 0, peer}, count, type);
}
int ncclRecv(void* data, std::size_t count, int type, int peer, void* comm, void*) {
  return queue_point(__func__, comm, {false, data, 0, peer}, count, type);
}

void mock_nccl_reset() {
  const std::lock_guard lock(control);
  version = 22809;
  async_error = 0;
  calls_of.clear();
  failures.clear();
}
void mock_nccl_set_version(int number) {
  version = number;
}
void mock_nccl_fail_next(const char* function, int status) {
  const std::lock_guard lock(control);
  failures[function] = status;
}
void mock_nccl_set_async_error(int status) {
  const std::lock_guard lock(control);
  async_error = status;
}
int mock_nccl_live() {
  const std::lock_guard lock(control);
  return live;
}
int mock_nccl_calls(const char* function) {
  const std::lock_guard lock(control);
  return calls_of[function];
}
int mock_nccl_last_type() {
  return last_type;
}
}
