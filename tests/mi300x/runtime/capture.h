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

/// One capture: its streams and the work given to them. The graph's handle is known from the
/// beginning.
///
/// HIP has kept the streams of a capture as a tree, which the end of the capture follows by
/// recursion: a wait makes the waiting stream a branch of the one that recorded the event, unless
/// it began the capture or that one is its branch. Real releases crash where the branches become a
/// circle, and where an event is recorded in two streams of a capture, of which the first keeps a
/// dangling record (ROCm/rocm-systems, pull requests 2072, 11517 and 11589); calls that lead there
/// fail here.
struct Capture {
  unsigned long long id = 0;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  std::thread::id thread;
  ihipStream_t* origin = nullptr;
  std::set<ihipStream_t*> streams;
  std::map<ihipStream_t*, ihipStream_t*> parents;  ///< of which stream it became a branch last
  std::map<ihipStream_t*, std::set<ihipStream_t*>> branches;
  std::shared_ptr<ihipGraph> graph;
  bool invalid = false;
};

/// Guards all captures, and what streams and events store about them.
std::mutex& capture_mutex();

/// Adds a node to the capture that `stream` is in. Needs the mutex.
void add_node(ihipStream_t& stream, Step work);

/// `stream` waits for an event that `recorder` has recorded in this capture. False where HIP would
/// crash at the end. Needs the mutex.
bool take_in(Capture& capture, ihipStream_t& stream, ihipStream_t& recorder);

/// Called when `stream` is destroyed while it is captured, which invalidates the capture.
void abandon_capture(ihipStream_t& stream);

/// For calls that only a relaxed capture allows: invalidates any other capture and returns the
/// error.
hipError_t forbidden_by_capture();

/// Runs the nodes one after the other. In model time, each begins when its predecessors have ended.
/// `moments` holds this launch's moment for each node that records.
double run_graph(const std::vector<Node>& nodes,
                 const std::vector<std::shared_ptr<Moment>>& moments, double start);

}  // namespace mi300x::runtime

struct hipGraphExec {
  /// Replaced as a whole, so that a launch in progress keeps the nodes that it began with.
  std::shared_ptr<const std::vector<mi300x::runtime::Node>> nodes;
};
