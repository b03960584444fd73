// Work recorded instead of run: graphs are what captured streams were given.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

struct ihipEvent_t;

namespace mi300x::runtime {

/// Does something that may begin at `start` of the model's clock; returns when it ends.
using Step = std::function<double(double start)>;

/// A program knows the node at `index` as the hipGraphNode_t `index + 1`.
struct Node {
  Device* device;
  Step work;                             ///< none in a node that records
  std::vector<std::size_t> after;        ///< nodes before it in the graph
  std::shared_ptr<ihipEvent_t> records;  ///< at every launch
};
class Moment;

}  // namespace mi300x::runtime

struct ihipGraph {
  std::vector<mi300x::runtime::Node> nodes;
};

namespace mi300x::runtime {

/// One capture: the streams in it, what they were given. The graph's handle is known from the
/// beginning.
struct Capture {
  unsigned long long id = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  ihipStream_t* origin = nullptr;
  std::set<ihipStream_t*> streams;
  std::shared_ptr<ihipGraph> graph;
  bool invalid = false;
};

/// Guards every capture and what streams and events know of it.
std::mutex& capture_mutex();

/// Adds a node to the capture that `stream` is in. Needs the mutex.
void add_node(ihipStream_t& stream, Step work);

/// `stream` goes while it is captured: the capture is invalid.
void abandon_capture(ihipStream_t& stream);

/// For calls that a capture forbids unless it is relaxed: the error, and the capture is invalid.
hipError_t forbidden_by_capture();

/// Runs the nodes one after the other; each begins, for the model, when those before it are done.
/// `moments` has one of this launch for each node that records.
double run_graph(const std::vector<Node>& nodes,
                 const std::vector<std::shared_ptr<Moment>>& moments, double start);

}  // namespace mi300x::runtime

struct hipGraphExec {
  /// Replaced as a whole: a launch under way keeps what it began with.
  std::shared_ptr<const std::vector<mi300x::runtime::Node>> nodes;
};
