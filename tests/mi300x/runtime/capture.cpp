#include "runtime/capture.h"

#include <algorithm>
#include <optional>

#include "runtime/handles.h"
#include "runtime/stream.h"

namespace mi300x::runtime {
namespace {

/// The captures in progress, by the stream that began them.
std::set<Capture*>& captures() {
  static auto& all = *new std::set<Capture*>;
  return all;
}

hipGraphNode_t handle_of(std::size_t node) {
  return reinterpret_cast<hipGraphNode_t>(node + 1);
}

/// The nodes with these handles; nothing if one is not of the graph.
std::optional<std::vector<std::size_t>> nodes_of(const ihipGraph& graph,
                                                 const hipGraphNode_t* handles, std::size_t count) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = reinterpret_cast<std::uintptr_t>(handles[i]);
    if (number == 0 || number > graph.nodes.size()) return std::nullopt;
    nodes.push_back(number - 1);
  }
  return nodes;
}

/// Ends the capture for all of its streams. Needs the mutex.
void dissolve(Capture& capture) {
  for (ihipStream_t* stream : capture.streams) {
    stream->tail.clear();
    if (stream != capture.origin) stream->capture.reset();
  }
  captures().erase(&capture);
}

/// Whether branches of `from`, or of these and so on, end in `to`. Needs the mutex.
bool leads_to(const Capture& capture, ihipStream_t* from, ihipStream_t* to) {
  std::set<ihipStream_t*> seen;
  std::vector<ihipStream_t*> open = {from};
  while (!open.empty()) {
    ihipStream_t* const at = open.back();
    open.pop_back();
    if (at == to) return true;
    const auto branches = capture.branches.find(at);
    if (!seen.insert(at).second || branches == capture.branches.end()) continue;
    open.insert(open.end(), branches->second.begin(), branches->second.end());
  }
  return false;
}

/// Whether every node leads to the end of the stream that began the capture. Needs the mutex.
bool joined(const Capture& capture) {
  const std::vector<Node>& nodes = capture.graph->nodes;
  std::vector<char> reached(nodes.size(), 0);
  for (const std::size_t node : capture.origin->tail) reached[node] = 1;
  for (std::size_t node = nodes.size(); node-- > 0;) {
    if (!reached[node]) return false;
    for (const std::size_t before : nodes[node].after) reached[before] = 1;
  }
  return true;
}

}  // namespace

std::mutex& capture_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

void add_node(ihipStream_t& stream, Step work) {
  std::vector<Node>& nodes = stream.capture->graph->nodes;
  nodes.push_back({&stream.device, std::move(work), stream.tail, nullptr});
  stream.tail = {nodes.size() - 1};
}

bool take_in(Capture& capture, ihipStream_t& stream, ihipStream_t& recorder) {
  capture.streams.insert(&stream);
  const auto parent = capture.parents.find(&recorder);
  if (&stream == capture.origin || (parent != capture.parents.end() && parent->second == &stream)) {
    return true;
  }
  capture.parents[&stream] = &recorder;
  capture.branches[&recorder].insert(&stream);
  return !leads_to(capture, &stream, &recorder);
}

void abandon_capture(ihipStream_t& stream) {
  const std::lock_guard lock(capture_mutex());
  if (!stream.capture) return;
  stream.capture->invalid = true;
  if (stream.capture->origin == &stream) {
    Handles<ihipGraph>::instance().take(stream.capture->graph.get());
    dissolve(*stream.capture);
  } else {
    stream.capture->streams.erase(&stream);
  }
}

hipError_t forbidden_by_capture() {
  const std::lock_guard lock(capture_mutex());
  hipError_t error = hipSuccess;
  for (Capture* capture : captures()) {
    const bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == hipStreamCaptureModeGlobal ||
        (capture->mode == hipStreamCaptureModeThreadLocal && mine)) {
      capture->invalid = true;
      error = hipErrorStreamCaptureUnsupported;
    }
  }
  return error;
}

double run_graph(const std::vector<Node>& nodes,
                 const std::vector<std::shared_ptr<Moment>>& moments, double start) {
  std::vector<double> ends;
  double last = start;
  auto moment = moments.begin();
  for (const Node& node : nodes) {
    double begin = start;
    for (const std::size_t before : node.after) begin = std::max(begin, ends[before]);
    if (node.records) {
      (*moment++)->reach(begin);
      ends.push_back(begin);
    } else {
      ends.push_back(perform(*node.device, node.work, begin));
    }
    last = std::max(last, ends.back());
  }
  return last;
}

}  // namespace mi300x::runtime

using namespace mi300x::runtime;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  return device_call(__func__, [&] {
    static std::atomic<unsigned long long> last{0};
    if (handle == nullptr) return hipErrorStreamCaptureUnsupported;
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) {
      return hipErrorInvalidValue;
    }
    const std::lock_guard lock(capture_mutex());
    if (stream->capture || stream->spoiled) return hipErrorIllegalState;
    stream->capture = std::make_shared<Capture>();
    Capture& capture = *stream->capture;
    capture.id = ++last;
    capture.mode = mode;
    capture.thread = std::this_thread::get_id();
    capture.origin = stream.get();
    capture.streams = {stream.get()};
    capture.graph = std::make_shared<ihipGraph>();
    Handles<ihipGraph>::instance().add(capture.graph);
    captures().insert(&capture);
    stream->tail.clear();
    return hipSuccess;
  });
}

hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* graph) {
  return device_call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (graph == nullptr) return hipErrorInvalidValue;
    *graph = nullptr;
    const std::lock_guard lock(capture_mutex());
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return hipErrorIllegalState;
    if (capture->origin != stream.get()) return hipErrorStreamCaptureUnmatched;
    if (capture->mode != hipStreamCaptureModeRelaxed &&
        capture->thread != std::this_thread::get_id()) {
      return hipErrorStreamCaptureWrongThread;
    }
    const bool whole = joined(*capture);
    const std::set<ihipStream_t*> streams = capture->streams;
    dissolve(*capture);
    stream->capture.reset();
    if (capture->invalid || !whole) {
      for (ihipStream_t* each : streams) each->spoiled = true;
      Handles<ihipGraph>::instance().take(capture->graph.get());
      return capture->invalid ? hipErrorStreamCaptureInvalidated : hipErrorStreamCaptureUnjoined;
    }
    *graph = capture->graph.get();
    return hipSuccess;
  });
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus* status,
                                      unsigned long long* id, hipGraph_t* graph,
                                      const hipGraphNode_t** last, size_t* count) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (status == nullptr) return hipErrorInvalidValue;
    const std::lock_guard lock(capture_mutex());
    *status = !stream->capture           ? hipStreamCaptureStatusNone
              : stream->capture->invalid ? hipStreamCaptureStatusInvalidated
                                         : hipStreamCaptureStatusActive;
    if (id != nullptr) *id = stream->capture ? stream->capture->id : 0;
    if (*status != hipStreamCaptureStatusActive) return hipSuccess;
    stream->told.clear();
    for (const std::size_t node : stream->tail) stream->told.push_back(handle_of(node));
    if (graph != nullptr) *graph = stream->capture->graph.get();
    if (last != nullptr) *last = stream->told.data();
    if (count != nullptr) *count = stream->told.size();
    return hipSuccess;
  });
}

hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus* status,
                                   unsigned long long* id) {
  return hipStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t* handles,
                                              size_t count, unsigned flags) {
  return call(__func__, [&] {
    const auto stream = stream_of(handle);
    if (!stream) return hipErrorInvalidHandle;
    if (flags > hipStreamSetCaptureDependencies) return hipErrorInvalidValue;
    const std::lock_guard lock(capture_mutex());
    if (!stream->capture || stream->capture->invalid) return hipErrorIllegalState;
    const auto nodes = nodes_of(*stream->capture->graph, handles, count);
    if (!nodes) return hipErrorInvalidValue;
    if (flags == hipStreamSetCaptureDependencies) stream->tail.clear();
    stream->tail.insert(stream->tail.end(), nodes->begin(), nodes->end());
    return hipSuccess;
  });
}

hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus* status) {
  return hipStreamGetCaptureInfo(handle, status, nullptr);
}

// ---- Graphs ----

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph_handle,
                                      const hipGraphNode_t* after, size_t count,
                                      hipEvent_t event_handle) {
  return device_call(__func__, [&] {
    const auto graph = Handles<ihipGraph>::instance().find(graph_handle);
    auto event = Handles<ihipEvent_t>::instance().find(event_handle);
    if (node == nullptr || !graph || !event || (after == nullptr && count > 0)) {
      return hipErrorInvalidValue;
    }
    const std::lock_guard lock(capture_mutex());
    auto nodes = nodes_of(*graph, after, count);
    if (!nodes) return hipErrorInvalidValue;
    *node = handle_of(graph->nodes.size());
    graph->nodes.push_back(
        {&Runtime::instance().current(), {}, std::move(*nodes), std::move(event)});
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t handle, hipGraphNode_t*, char* log,
                               size_t log_bytes) {
  return device_call(__func__, [&] {
    const auto graph = Handles<ihipGraph>::instance().find(handle);
    if (!graph || exec == nullptr || (log == nullptr && log_bytes != 0)) {
      return hipErrorInvalidValue;
    }
    auto made = std::make_shared<hipGraphExec>();
    made->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
    *exec = Handles<hipGraphExec>::instance().add(std::move(made));
    return hipSuccess;
  });
}

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph,
                                        unsigned long long flags) {
  constexpr unsigned long long free_on_launch = 1;
  if ((flags & ~free_on_launch) != 0) return hipErrorInvalidValue;
  return hipGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}

hipError_t hipGraphLaunch(hipGraphExec_t handle, hipStream_t stream) {
  return device_call(__func__, [&] {
    const auto exec = Handles<hipGraphExec>::instance().find(handle);
    if (!exec) return hipErrorInvalidValue;
    std::vector<std::shared_ptr<Moment>> moments;
    {
      const std::lock_guard lock(capture_mutex());
      for (const Node& node : *exec->nodes) {
        if (!node.records) continue;
        moments.push_back(std::make_shared<Moment>());
        if (Runtime::instance().injection.loses_graph_events()) continue;
        node.records->moment = moments.back();
        node.records->capture.reset();
      }
    }
    return submit(stream, [nodes = exec->nodes, moments = std::move(moments)](double start) {
      return run_graph(*nodes, moments, start);
    });
  });
}

/// The new graph must have the same shape as the old one.
hipError_t hipGraphExecUpdate(hipGraphExec_t handle, hipGraph_t graph_handle,
                              hipGraphNode_t* error_node, hipGraphExecUpdateResult* result) {
  return device_call(__func__, [&] {
    const auto exec = Handles<hipGraphExec>::instance().find(handle);
    const auto graph = Handles<ihipGraph>::instance().find(graph_handle);
    if (!exec || !graph || error_node == nullptr || result == nullptr) return hipErrorInvalidValue;
    *error_node = nullptr;
    const auto same = [](const Node& a, const Node& b) { return a.after == b.after; };
    if (!std::equal(exec->nodes->begin(), exec->nodes->end(), graph->nodes.begin(),
                    graph->nodes.end(), same)) {
      *result = hipGraphExecUpdateErrorTopologyChanged;
      return hipErrorGraphExecUpdateFailure;
    }
    const auto alike = [](const Node& a, const Node& b) { return !a.records == !b.records; };
    if (!std::equal(exec->nodes->begin(), exec->nodes->end(), graph->nodes.begin(), alike)) {
      *result = hipGraphExecUpdateErrorNodeTypeChanged;
      return hipErrorGraphExecUpdateFailure;
    }
    *result = hipGraphExecUpdateSuccess;
    exec->nodes = std::make_shared<const std::vector<Node>>(graph->nodes);
    return hipSuccess;
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call(__func__, [&] {
    return Handles<ihipGraph>::instance().take(graph) ? hipSuccess : hipErrorInvalidValue;
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  return call(__func__, [&] {
    return Handles<hipGraphExec>::instance().take(exec) ? hipSuccess : hipErrorInvalidValue;
  });
}

}  // extern "C"
