// NCCL, or RCCL if MOCK_RCCL is defined, between threads and processes of one machine, on the host.
// With OLD_NCCL it lacks what versions 2.14 to 2.19 added, and RCCL what 2.28 added.
//
// An operation begins when its group ends: in its stream if the virtual runtime has streams,
// otherwise at once. It is strict: ranks get an error instead of waiting for ever if their calls
// differ or a peer is gone.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "libraries/hooks.h"
#include "libraries/mock_nccl.h"
#include "libraries/nccl_operation.h"

namespace {

using assay::DataType;
using mi300x::NcclCall;
using mi300x::NcclKind;
using mi300x::NcclWorld;

struct Id {
  char bytes[128];
};

constexpr int unhandled_error = 1, invalid_argument = 4, invalid_usage = 5, remote_error = 6;
// On gfx942 the numbers of fp8 mean the FNUZ encodings.
#if defined(MOCK_RCCL)
constexpr DataType fp8[] = {DataType::e4m3_fnuz, DataType::e5m2_fnuz};
#else
constexpr DataType fp8[] = {DataType::e4m3, DataType::e5m2};
#endif
constexpr std::array<DataType, 12> types = {
    DataType::i8,  DataType::u8,  DataType::i32, DataType::u32,  DataType::i64, DataType::u64,
    DataType::f16, DataType::f32, DataType::f64, DataType::bf16, fp8[0],        fp8[1]};
constexpr std::array<assay::Reduction, 5> reductions = {
    assay::Reduction::sum, assay::Reduction::prod, assay::Reduction::max, assay::Reduction::min,
    assay::Reduction::avg};

/// State that a communicator shares with its queued work, which may outlive it.
struct State {
  std::mutex mutex;
  std::shared_ptr<NcclWorld> world;  ///< null once it was destroyed or aborted
  int error = 0;                     ///< first error of an operation; it is kept
  std::string words;                 ///< the library's last message
  int ranks = 0;

  std::shared_ptr<NcclWorld> living() {
    const std::lock_guard lock(mutex);
    return world;
  }
  void fail(int status, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (error == 0) words = text;
    if (error == 0) error = status;
  }
  int status() {
    const std::lock_guard lock(mutex);
    return error;
  }
};

struct Comm {
  std::shared_ptr<State> state = std::make_shared<State>();
  std::string name;               ///< name of its world
  int splits = 0;                 ///< number of communicators split from it, equal on all ranks
  std::set<void*> registrations;  ///< registered memory
};

/// ncclConfig_t as of 2.17; later versions append fields.
struct Config {
  std::size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
  const char* net_name;
};

struct Queued {
  Comm* comm;
  NcclCall call;
  void* stream;
};

std::mutex control;
std::map<std::string, int> calls_of, failures;
int version = 22809, async_error = 0, live = 0, made = 0, registered = 0;
int last_min_ctas = 0, last_max_ctas = 0;
thread_local int depth = 0, last_type = -1;
thread_local int group_error = 0;  // of a call in the group, which cancels the whole group
thread_local std::vector<Queued> queued;
thread_local std::string last_words = "the mock's last words";

int entered(const char* function) {
  const std::lock_guard lock(control);
  ++calls_of[function];
  return std::exchange(failures[function], 0);
}

/// Returns the error of a call, which also cancels its group.
int refused(int status) {
  if (depth > 0) group_error = status;
  return status;
}

void work(State& state, const NcclCall& call) {
  const std::shared_ptr<NcclWorld> world = state.living();
  if (!world || state.status() != 0) return;
  std::string problem;
  if (!perform(*world, call, problem)) {
    state.fail(world->aborted() ? remote_error : invalid_usage, problem);
  }
}

int run(const Queued& one) {
  const std::shared_ptr<State> state = one.comm->state;
  const double seconds = one.call.seconds(state->ranks);
  const auto does = [state, call = one.call] { work(*state, call); };
  if (mi300x::enqueue(one.stream, does, seconds) != 0) return unhandled_error;
  return state->status();
}

int queue(const char* function, void* comm, NcclCall call, int type, int op, void* stream) {
  if (const int failure = entered(function)) return refused(failure);
  if (comm == nullptr || type < 0 || type >= static_cast<int>(types.size()) || op < 0 ||
      op >= static_cast<int>(reductions.size())) {
    return refused(invalid_argument);
  }
  auto* own = static_cast<Comm*>(comm);
  if (call.root < 0 || call.root >= own->state->ranks) return refused(invalid_argument);
  last_type = type;
  call.type = types[static_cast<std::size_t>(type)];
  call.op = reductions[static_cast<std::size_t>(op)];
  Queued one{own, std::move(call), stream};
  if (depth == 0) return run(one);
  queued.push_back(std::move(one));
  return 0;
}

int queue_message(const char* function, void* comm, mi300x::NcclMessage message, std::size_t count,
                  int type, void* stream) {
  if (const int failure = entered(function)) return refused(failure);
  if (comm == nullptr || type < 0 || type >= static_cast<int>(types.size())) {
    return refused(invalid_argument);
  }
  if (depth == 0) return invalid_usage;  // it would wait for ever for its peer
  last_type = type;
  message.bytes = count * size_of(types[static_cast<std::size_t>(type)]);
  auto* own = static_cast<Comm*>(comm);
  const bool joins = !queued.empty() && queued.back().call.kind == NcclKind::messages &&
                     queued.back().comm == own && queued.back().stream == stream;
  if (!joins) queued.push_back({own, NcclCall{}, stream});
  queued.back().call.messages.push_back(message);
  return 0;
}

int leave(const char* function, void* comm, bool abort) {
  const int failure = entered(function);
  if (comm == nullptr) return invalid_argument;
  const std::unique_ptr<Comm> owned(static_cast<Comm*>(comm));
  {
    const std::lock_guard lock(control);
    --live;
    registered -= static_cast<int>(owned->registrations.size());
  }
  State& state = *owned->state;
  if (const auto world = state.living(); world && abort) {
    world->abort("rank " + std::to_string(world->rank()) + " aborted the communicator");
  }
  const std::lock_guard lock(state.mutex);
  state.world.reset();
  return failure;
}

/// Every byte of an identifier has to arrive.
char filler_of(const std::string& name) {
  return static_cast<char>(0x80 + name.size() + static_cast<unsigned char>(name.back()) % 16);
}

Id id_of(const std::string& name) {
  Id id;
  std::memset(id.bytes, filler_of(name), sizeof id.bytes);
  std::memcpy(id.bytes, name.c_str(), name.size() + 1);
  return id;
}

/// A communicator of the world of that name, waiting for all its ranks.
int join(const std::string& name, int ranks, int rank, void** comm) {
  auto own = std::make_unique<Comm>();
  std::string problem;
  own->name = name;
  own->state->world = NcclWorld::join(name, ranks, rank, problem);
  own->state->ranks = ranks;
  if (!own->state->world) {
    last_words = problem;
    return invalid_usage;
  }
  {
    const std::lock_guard lock(control);
    ++live;
  }
  *comm = own.release();
  return 0;
}

#if !defined(OLD_NCCL)
/// Checks a configuration like the real libraries, and keeps its bounds.
int take(const void* config) {
  if (config == nullptr) return 0;
  Config given = {};
  std::size_t size = 0;
  std::memcpy(&size, config, sizeof size);
  std::memcpy(&given, config, std::min(size, sizeof given));
  const auto wrong = [](int bound) { return bound != INT_MIN && bound <= 0; };
  if (given.magic != 0xcafebeef || size < sizeof given || given.version < 21700 ||
      wrong(given.min_ctas) || wrong(given.max_ctas) || given.min_ctas > given.max_ctas) {
    return invalid_argument;
  }
  const std::lock_guard lock(control);
  last_min_ctas = given.min_ctas;
  last_max_ctas = given.max_ctas;
  return 0;
}

/// What a rank sends to the others when they split.
struct Wish {
  int colour, key;
};

/// Collects the ranks of `world` with this rank's colour, in the order of keys. Returns false if
/// one is gone.
bool gather_wishes(NcclWorld& world, Wish mine, std::vector<int>& group) {
  std::memcpy(world.window().data(), &mine, sizeof mine);
  if (!world.meet()) return false;
  std::vector<std::pair<int, int>> order;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    Wish its;
    std::memcpy(&its, world.window(rank).data(), sizeof its);
    if (its.colour == mine.colour) order.emplace_back(its.key, rank);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [key, rank] : order) group.push_back(rank);
  return world.meet();  // all have read
}
#endif

}  // namespace

#define QUEUE(kind, send, receive, op, root)                                                      \
  queue(__func__, comm, {NcclKind::kind, send, receive, count, DataType::u8, {}, root, {}}, type, \
        op, stream)

extern "C" {

int ncclGetVersion(int* out) {
  *out = version;
  return entered(__func__);
}
const char* ncclGetErrorString(int status) {
  return status == invalid_usage ? "invalid usage" : "mock error";
}
const char* ncclGetLastError(void* comm) {
  if (comm == nullptr) return last_words.c_str();
  State& state = *static_cast<Comm*>(comm)->state;
  const std::lock_guard lock(state.mutex);
  if (!state.words.empty()) last_words = state.words;
  return last_words.c_str();
}
int ncclGetUniqueId(Id* id) {
  if (const int failure = entered(__func__)) return failure;
  const std::lock_guard lock(control);
  // Several of these libraries may be in one process.
  const std::string name = "/mi300x-nccl-" + std::to_string(::getpid()) + "-" +
                           std::to_string(reinterpret_cast<std::uintptr_t>(&made)) + "-" +
                           std::to_string(++made);
  *id = id_of(name);
  return NcclWorld::create(name) ? 0 : unhandled_error;
}
int ncclCommInitRank(void** comm, int ranks, Id id, int rank) {
  if (const int failure = entered(__func__)) return failure;
  const std::string name(id.bytes, ::strnlen(id.bytes, 100));
  const Id whole = id_of(name.empty() ? "?" : name);
  if (std::memcmp(&whole, &id, sizeof id) != 0) return invalid_argument;
  return join(name, ranks, rank, comm);
}
#if !defined(OLD_NCCL)
int ncclCommInitRankConfig(void** comm, int ranks, Id id, int rank, void* config) {
  if (const int failure = entered(__func__)) return failure;
  if (const int failure = take(config)) return failure;
  return ncclCommInitRank(comm, ranks, id, rank);
}
int ncclCommSplit(void* comm, int colour, int key, void** made_comm, void* config) {
  if (const int failure = entered(__func__)) return failure;
  if (comm == nullptr || colour < -1) return invalid_argument;
  if (const int failure = take(config)) return failure;
  auto* own = static_cast<Comm*>(comm);
  const std::shared_ptr<NcclWorld> world = own->state->living();
  if (!world) return invalid_usage;
  *made_comm = nullptr;
  std::vector<int> group;
  const std::string name =
      own->name + "-" + std::to_string(++own->splits) + "-" + std::to_string(colour);
  if (!gather_wishes(*world, {colour, key}, group)) return remote_error;
  if (colour >= 0 && group.front() == world->rank() && !NcclWorld::create(name)) {
    return unhandled_error;
  }
  if (!world->meet()) return remote_error;
  if (colour < 0) return 0;
  const auto rank = std::find(group.begin(), group.end(), world->rank()) - group.begin();
  return join(name, static_cast<int>(group.size()), static_cast<int>(rank), made_comm);
}
int ncclCommRegister(void* comm, void* address, std::size_t bytes, void** handle) {
  if (const int failure = entered(__func__)) return failure;
  if (comm == nullptr || address == nullptr || bytes == 0) return invalid_argument;
  const std::lock_guard lock(control);
  *handle = static_cast<char*>(address) + 1;  // nobody's pointer
  ++registered;
  return static_cast<Comm*>(comm)->registrations.insert(*handle).second ? 0 : invalid_usage;
}
int ncclCommDeregister(void* comm, void* handle) {
  if (const int failure = entered(__func__)) return failure;
  const std::lock_guard lock(control);
  if (comm == nullptr || static_cast<Comm*>(comm)->registrations.erase(handle) == 0) {
    return invalid_argument;
  }
  --registered;
  return 0;
}
#endif
int ncclCommDestroy(void* comm) {
  return leave(__func__, comm, false);
}
int ncclCommAbort(void* comm) {
  return leave(__func__, comm, true);
}
int ncclCommGetAsyncError(void* comm, int* status) {
  const int own = static_cast<Comm*>(comm)->state->status();
  const std::lock_guard lock(control);
  *status = async_error != 0 ? async_error : own;
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
  if (const int refusal = std::exchange(group_error, 0)) status = refusal;
  for (const Queued& one : std::exchange(queued, {})) {
    if (status == 0) status = run(one);
  }
  return status;
}
int ncclAllReduce(const void* send, void* receive, std::size_t count, int type, int op, void* comm,
                  void* stream) {
  return QUEUE(all_reduce, send, receive, op, 0);
}
int ncclReduce(const void* send, void* receive, std::size_t count, int type, int op, int root,
               void* comm, void* stream) {
  return QUEUE(reduce, send, receive, op, root);
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int type, int op,
                      void* comm, void* stream) {
  return QUEUE(reduce_scatter, send, receive, op, 0);
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int type, int root,
                  void* comm, void* stream) {
  return QUEUE(broadcast, send, receive, 0, root);
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int type, void* comm,
                  void* stream) {
  return QUEUE(all_gather, send, receive, 0, 0);
}
#if defined(MOCK_RCCL)  // RCCL's own name, deprecated since 2.28
int ncclAllToAll(const void* send, void* receive, std::size_t count, int type, void* comm,
                 void* stream) {
  return QUEUE(all_to_all, send, receive, 0, 0);
}
#endif
#if !defined(MOCK_RCCL) || !defined(OLD_NCCL)
int ncclAlltoAll(const void* send, void* receive, std::size_t count, int type, void* comm,
                 void* stream) {
  return QUEUE(all_to_all, send, receive, 0, 0);
}
#endif
int ncclGather(const void* send, void* receive, std::size_t count, int type, int root, void* comm,
               void* stream) {
  return QUEUE(gather, send, receive, 0, root);
}
int ncclScatter(const void* send, void* receive, std::size_t count, int type, int root, void* comm,
                void* stream) {
  return QUEUE(scatter, send, receive, 0, root);
}
int ncclSend(const void* data, std::size_t count, int type, int peer, void* comm, void* stream) {
  return queue_message(__func__, comm, {true, peer, const_cast<void*>(data), 0}, count, type,
                       stream);
}
int ncclRecv(void* data, std::size_t count, int type, int peer, void* comm, void* stream) {
  return queue_message(__func__, comm, {false, peer, data, 0}, count, type, stream);
}

void mock_nccl_reset() {
  const std::lock_guard lock(control);
  version = 22809;
  async_error = 0;
  last_min_ctas = last_max_ctas = 0;
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
int mock_nccl_registered() {
  const std::lock_guard lock(control);
  return registered;
}
void mock_nccl_last_ctas(int* least, int* most) {
  const std::lock_guard lock(control);
  *least = last_min_ctas;
  *most = last_max_ctas;
}
int mock_nccl_last_type() {
  return last_type;
}
}
