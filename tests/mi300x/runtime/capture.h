// Work that is recorded instead of executed: a graph holds the work given to captured streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/runtime.h"

struct ihipEvent_t;

namespace mi300x::runtime {

/// Does work that may begin at `start` of the model's clock; returns the time of its end.
using Step = std::function<double(double start)>;

/// The program's hipGraphNode_t for the node at `index` is `index + 1`.
struct Node {
  Device* device;
  Step work;                             ///< empty in a node that records an event
  std::vector<std::size_t> after;        ///< predecessors in the graph
  std::shared_ptr<ihipEvent_t> records;  ///< event recorded at every launch
};
class Moment;

}  // namespace mi300x::runtime

struct ihipGraph {
  std::vector<mi300x::runtime::Node> nodes;
};

namespace mi300x::runtime {

/// One capture: its streams and the work given to them. The graph's handle is known from the
/// beginning.
///
/// HIP keeps the streams of a capture as a tree, which the end of the capture traverses
/// recursively. A wait makes the waiting stream a branch of the one that recorded the event, unless
/// the waiting stream began the capture or the recording one is its branch.
///
/// Real releases crash if the branches form a circle, or if an event is recorded in two streams of
/// a capture, because the first keeps a dangling record (ROCm/rocm-systems, pull requests 2072,
/// 11517 and 11589). Calls that lead to this fail here.
struct Capture {
  unsigned long long id = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  ihipStream_t* origin = nullptr;
  std::set<ihipStream_t*> streams;
  std::map<ihipStream_t*, ihipStream_t*> parents;  ///< the stream of which it became a branch last
  std::map<ihipStream_t*, std::set<ihipStream_t*>> branches;
  std::shared_ptr<ihipGraph> graph;
  bool invalid = false;
};

/// Guards all captures, and what streams and events store about them.
std::mutex& capture_mutex();

/// Adds a node to the capture that `stream` is in. Requires the mutex.
void add_node(ihipStream_t& stream, Step work);

/// Call when `stream` waits for an event that `recorder` has recorded in this capture. Returns
/// false if HIP would crash at the end of the capture. Requires the mutex.
bool take_in(Capture& capture, ihipStream_t& stream, ihipStream_t& recorder);

/// Call when `stream` is destroyed during its capture, which invalidates the capture.
void abandon_capture(ihipStream_t& stream);

/// For calls that only a relaxed capture allows: invalidates any other capture and returns the
/// error.
hipError_t forbidden_by_capture();

/// Runs the nodes one after the other; in model time each begins when its predecessors have ended.
/// `moments` holds this launch's moment for each node that records.
double run_graph(const std::vector<Node>& nodes,
                 const std::vector<std::shared_ptr<Moment>>& moments, double start);

}  // namespace mi300x::runtime

struct hipGraphExec {
  /// The list is replaced as a whole, so that a launch in progress keeps its nodes.
  std::shared_ptr<const std::vector<mi300x::runtime::Node>> nodes;
};
