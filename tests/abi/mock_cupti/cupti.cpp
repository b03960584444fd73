// CUPTI's tracing on the host: tests say what a GPU did, and the mock writes the records that CUDA
// 13.0's cupti_activity.h describes.
#include <chrono>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mock_cupti.h"

namespace {

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);
using Callback = void (*)(void*, int, std::uint32_t, const void*);

constexpr int no_more_records = 12, invalid_parameter = 1;
constexpr std::uint64_t ahead_of_host = 5'000'000'000'000;

struct ExternalRecord {  // CUpti_ActivityExternalCorrelation
  int kind = 39, external_kind = 3;
  std::uint64_t number = 0;
  std::uint32_t correlation = 0, reserved = 0;
};
struct KernelRecord {  // CUpti_ActivityKernel9, up to graphNodeId
  int kind = 10;
  std::uint8_t cache = 0, shared_config = 0;
  std::uint16_t registers = 32;
  int requested = 0, executed = 0;
  std::uint64_t start = 0, end = 0, completed = 0;
  std::uint32_t device = 0, context = 1, stream = 7;
  std::int32_t grid[3] = {4, 2, 1}, block[3] = {256, 1, 1};
  std::int32_t static_shared = 0, dynamic_shared = 0;
  std::uint32_t local = 0, local_total = 0, correlation = 0;
  std::int64_t grid_id = 0;
  const char* name = nullptr;
  void* reserved = nullptr;
  std::uint64_t queued = 0, submitted = 0;
  std::uint8_t launch_type = 0, carveout_requested = 0, carveout = 0, padding = 0;
  std::uint32_t shared_executed = 0;
  std::uint64_t node = 0;
  std::uint64_t rest[8] = {};
};
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, stream) == 48 &&
              offsetof(KernelRecord, correlation) == 92 && offsetof(KernelRecord, name) == 104 &&
              offsetof(KernelRecord, node) == 144);
struct MoveRecord {  // CUpti_ActivityMemcpy5 and CUpti_ActivityMemset4, up to graphNodeId
  int kind = 1, kinds = 0;
  std::uint64_t bytes = 0, start = 0, end = 0;
  std::uint32_t device = 0, context = 1, stream = 7, correlation = 0, more[2] = {};
  void* reserved = nullptr;
  std::uint64_t node = 0;
  std::uint64_t rest[2] = {};
};
static_assert(offsetof(MoveRecord, stream) == 40 && offsetof(MoveRecord, node) == 64);

struct PeerRecord {  // CUpti_ActivityMemcpyPtoP4, up to graphNodeId
  int kind = 22, kinds = 0;
  std::uint64_t bytes = 0, start = 0, end = 0;
  std::uint32_t device = 0, context = 1, stream = 7, devices_and_contexts[4] = {}, correlation = 0;
  void* reserved = nullptr;
  std::uint64_t node = 0;
  std::uint64_t rest[2] = {};
};
static_assert(offsetof(PeerRecord, correlation) == 60 && offsetof(PeerRecord, node) == 72);

struct Mock {
  std::map<std::string, int> failing;
  std::uint32_t version = 130000, correlation = 0;
  std::set<int> enabled;
  std::vector<std::uint64_t> external;
  Request request = nullptr;
  Complete complete = nullptr;
  Callback callback = nullptr;
  void* user = nullptr;
  std::set<std::uint32_t> callbacks;
  std::vector<std::vector<std::uint8_t>> records;
  std::map<std::uint8_t*, std::vector<std::size_t>> sizes;  // of the records of a full buffer
  std::size_t dropped = 0;
} mock;

int fails(const char* function) {
  const auto found = mock.failing.find(function);
  if (found == mock.failing.end()) return 0;
  const int status = found->second;
  mock.failing.erase(found);
  return status;
}

template <typename Record>
void add(Record record) {
  record.correlation = ++mock.correlation;
  const auto append = [](const auto& one) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(&one);
    mock.records.emplace_back(first, first + sizeof one);
  };
  // Records of a buffer are in no order: the kernel's stands before its external number.
  if (mock.enabled.contains(record.kind)) append(record);
  if (mock.external.empty() || !mock.enabled.contains(39) || !mock.enabled.contains(4)) return;
  ExternalRecord external;
  external.number = mock.external.back();
  external.correlation = record.correlation;
  append(external);
}

void call_back(std::uint32_t id, std::uint64_t node, std::uint64_t original) {
  if (mock.callback == nullptr || !mock.callbacks.contains(id)) return;
  void* const graph[] = {nullptr, nullptr, reinterpret_cast<void*>(node),
                         reinterpret_cast<void*>(original)};
  const void* const resource[] = {nullptr, nullptr, graph};
  mock.callback(mock.user, 3, id, resource);
}

}  // namespace

extern "C" {
void mock_cupti_reset() {
  mock = {};
}
void mock_cupti_fail(const char* function, int status) {
  mock.failing[function] = status;
}
void mock_cupti_set_version(std::uint32_t version) {
  mock.version = version;
}
void mock_cupti_run_kernel(const char* name, std::uint64_t start, std::uint64_t end,
                           std::uint64_t node) {
  KernelRecord kernel;
  kernel.name = name;
  kernel.start = start;
  kernel.end = end;
  kernel.node = node;
  add(kernel);
}
void mock_cupti_move(bool fill, std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
  MoveRecord move;
  move.kind = fill ? 2 : 1;
  move.bytes = bytes;
  move.start = start;
  move.end = end;
  add(move);
}
void mock_cupti_copy_to_peer(std::uint64_t bytes, std::uint64_t start, std::uint64_t end) {
  PeerRecord copy;
  copy.bytes = bytes;
  copy.start = start;
  copy.end = end;
  add(copy);
}
void mock_cupti_create_node(std::uint64_t node) {
  call_back(13, node, 0);
}
void mock_cupti_clone_node(std::uint64_t node, std::uint64_t original) {
  call_back(20, node, original);
}
void mock_cupti_drop(std::size_t count) {
  mock.dropped = count;
}
std::uint64_t mock_cupti_now() {
  return ahead_of_host +
         static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}
int mock_cupti_enabled() {
  return static_cast<int>(mock.enabled.size());
}
int mock_cupti_subscribers() {
  return mock.callback == nullptr ? 0 : 1;
}

int cuptiGetVersion(std::uint32_t* version) {
  *version = mock.version;
  return fails("cuptiGetVersion");
}
int cuptiGetTimestamp(std::uint64_t* ns) {
  *ns = mock_cupti_now();
  return fails("cuptiGetTimestamp");
}
int cuptiGetResultString(int, const char** text) {
  *text = "CUPTI_ERROR_OF_MOCK";
  return 0;
}
int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  mock.request = request;
  mock.complete = complete;
  return fails("cuptiActivityRegisterCallbacks");
}
int cuptiActivityEnable(int kind) {
  if (const int status = fails("cuptiActivityEnable"); status != 0) return status;
  mock.enabled.insert(kind);
  return 0;
}
int cuptiActivityDisable(int kind) {
  mock.enabled.erase(kind);
  return fails("cuptiActivityDisable");
}
int cuptiActivityFlushAll(std::uint32_t) {
  if (const int status = fails("cuptiActivityFlushAll"); status != 0) return status;
  std::size_t next = 0;
  while (next < mock.records.size()) {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, most = 0, used = 0;
    mock.request(&buffer, &bytes, &most);
    // Few records fill a buffer, so that there are several.
    std::vector<std::size_t>& sizes = mock.sizes[buffer];
    sizes.clear();
    for (int i = 0; i < 3 && next < mock.records.size(); ++i, ++next) {
      std::memcpy(buffer + used, mock.records[next].data(), mock.records[next].size());
      sizes.push_back(mock.records[next].size());
      used += mock.records[next].size();
    }
    mock.complete(nullptr, 0, buffer, bytes, used);
  }
  mock.records.clear();
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record) {
  if (const int status = fails("cuptiActivityGetNextRecord"); status != 0) return status;
  std::uint8_t* next = *record == nullptr ? buffer : *record;
  std::uint8_t* at = buffer;
  for (const std::size_t size : mock.sizes[buffer]) {
    if (*record == nullptr) break;
    const bool last = at == *record;
    at += size;
    if (last) {
      next = at;
      break;
    }
  }
  if (next >= buffer + valid) return no_more_records;
  *record = next;
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = std::exchange(mock.dropped, 0);
  return 0;
}
int cuptiActivityPushExternalCorrelationId(int, std::uint64_t number) {
  mock.external.push_back(number);
  return 0;
}
int cuptiActivityPopExternalCorrelationId(int, std::uint64_t* number) {
  if (mock.external.empty()) return invalid_parameter;
  *number = mock.external.back();
  mock.external.pop_back();
  return 0;
}
int cuptiSubscribe(void** subscriber, Callback callback, void* user) {
  if (const int status = fails("cuptiSubscribe"); status != 0) return status;
  mock.callback = callback;
  mock.user = user;
  *subscriber = &mock;
  return 0;
}
int cuptiUnsubscribe(void*) {
  mock.callback = nullptr;
  return 0;
}
int cuptiEnableCallback(std::uint32_t on, void*, int, std::uint32_t id) {
  if (on != 0) mock.callbacks.insert(id);
  return fails("cuptiEnableCallback");
}
int cuptiGetGraphNodeId(void* node, std::uint64_t* id) {
  *id = reinterpret_cast<std::uint64_t>(node);
  return *id == 0 ? invalid_parameter : 0;
}
}
