// cuDNN's C interface on the host: it remembers what descriptors say, refuses what the library
// would, and computes graphs (graph.cpp).
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "compute/vendor/libraries/cudnn_api.h"
#include "descriptor.h"
#include "mock_cudnn.h"

using namespace assay::cudnn;
using mock_cudnn::Descriptor;

namespace {

constexpr int bad = 2000, dead = 2004, unsupported = 3000;
constexpr std::int64_t configurations = 3;
constexpr std::int64_t workspace = 256;

struct State {
  std::size_t version = 91900;
  std::map<std::string, std::pair<int, int>> failures;  // function: calls to go, status
  std::map<std::string, int> calls;
  int refused_plans = 0, refused_operations = 0, noted = 0, ran = -1;
  int note = note::nondeterministic, fast = -1;
  std::map<int, int> wrong;  // by configuration, how often it will be
  void (*before)(void*) = nullptr;
  void* context = nullptr;
  std::string graph, last_error;
};
State state;
std::set<void*> live;

/// Counts a call; its status, unless 0, is to be returned.
int called(const char* function) {
  ++state.calls[function];
  const auto planned = state.failures.find(function);
  if (planned == state.failures.end() || planned->second.first-- > 0) return 0;
  const int status = planned->second.second;
  state.failures.erase(planned);
  state.last_error = "as the test asked\nand more";
  return status;
}

std::size_t bytes_of(int type) {
  switch (type) {
    case type::handle:
    case type::pointer:
    case type::descriptor:
    case type::int64:
    case type::f64:
      return 8;
    case type::boolean:
      return 1;
    default:
      return 4;
  }
}

const Descriptor* graph_of(const Descriptor& plan) {
  return plan.part(attribute::plan_config)->part(attribute::heuristics_graph);
}

int finalize(Descriptor& made) {
  const auto lacks = [&](std::initializer_list<int> names) {
    return std::any_of(names.begin(), names.end(), [&](int name) { return !made.has(name); });
  };
  switch (made.type) {
    case descriptor::tensor:
      if (lacks({900, 901, 902, 903, 906, 907, 908})) return bad;
      break;
    case descriptor::graph: {
      if (lacks({attribute::graph_operations, attribute::graph_handle})) return bad;
      state.graph.clear();
      for (const Descriptor* o : made.all<const Descriptor*>(attribute::graph_operations)) {
        state.graph += (state.graph.empty() ? "" : " ") + mock_cudnn::name_of(*o);
      }
      break;
    }
    case descriptor::plan: {
      if (lacks({attribute::plan_handle, attribute::plan_config})) return bad;
      made.config = made.part(attribute::plan_config)->config;
      const auto operations = graph_of(made)->attributes.at(attribute::graph_operations).size() / 8;
      if (made.config < state.refused_plans ||
          operations == static_cast<std::size_t>(state.refused_operations)) {
        state.last_error = "no kernel";
        return unsupported;
      }
      break;
    }
    default:
      if (mock_cudnn::is_convolution(made) && !mock_cudnn::is_complete_convolution(made)) {
        return bad;
      }
      break;
  }
  made.finalized = true;
  return 0;
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() {
  return state.version;
}
const char* cudnnGetErrorString(int status) {
  return status == unsupported ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
}
void cudnnGetLastErrorString(char* message, std::size_t room) {
  std::snprintf(message, room, "%s", state.last_error.c_str());
}

int cudnnCreate(void** handle) {
  if (const int status = called("cudnnCreate")) return status;
  *handle = new Descriptor;
  live.insert(*handle);
  return 0;
}
int cudnnDestroy(void* handle) {
  ++state.calls["cudnnDestroy"];
  if (live.erase(handle) == 0) return bad;
  delete static_cast<Descriptor*>(handle);
  return 0;
}
int cudnnSetStream(void*, void*) {
  return called("cudnnSetStream");
}

int cudnnBackendCreateDescriptor(int type, void** made) {
  if (const int status = called("cudnnBackendCreateDescriptor")) return status;
  *made = new Descriptor{.type = type, .finalized = false, .attributes = {}, .config = 0};
  live.insert(*made);
  return 0;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  ++state.calls["cudnnBackendDestroyDescriptor"];
  if (live.erase(descriptor) == 0) return bad;
  delete static_cast<Descriptor*>(descriptor);
  return 0;
}

int cudnnBackendSetAttribute(void* descriptor, int name, int type, std::int64_t count,
                             const void* values) {
  if (const int status = called("cudnnBackendSetAttribute")) return status;
  auto& target = *static_cast<Descriptor*>(descriptor);
  if (target.finalized) return bad;
  const auto* const first = static_cast<const std::byte*>(values);
  const std::size_t bytes = static_cast<std::size_t>(count) * bytes_of(type);
  if (type == type::descriptor) {
    for (std::int64_t i = 0; i < count; ++i) {
      void* part = nullptr;
      std::memcpy(&part, first + 8 * i, 8);
      if (!live.contains(part) || !static_cast<Descriptor*>(part)->finalized) return dead;
    }
  }
  target.attributes[name].assign(first, first + bytes);
  return 0;
}

int cudnnBackendGetAttribute(void* descriptor, int name, int, std::int64_t room,
                             std::int64_t* count, void* values) {
  if (const int status = called("cudnnBackendGetAttribute")) return status;
  const auto& source = *static_cast<Descriptor*>(descriptor);
  if (name == attribute::heuristics_results) {
    // Modes A and B propose the same here.
    const bool is_first_mode = source.get<int>(attribute::heuristics_mode) != heuristics::fallback;
    *count = is_first_mode ? configurations : 1;
    for (std::int64_t i = 0; i < std::min(*count, room); ++i) {
      auto& config = *static_cast<Descriptor**>(values)[i];
      config.config = static_cast<int>(is_first_mode ? i : configurations);
      config.attributes[attribute::heuristics_graph] =
          source.attributes.at(attribute::heuristics_graph);
      config.finalized = true;
    }
  } else if (name == attribute::config_knobs) {  // one, whose value is that of the configuration
    *count = 1;
    auto& knob = **static_cast<Descriptor**>(values);
    knob.config = source.config;
    knob.finalized = true;
  } else if (name == attribute::knob_type) {
    *count = 1;
    const int kind = 12;
    std::memcpy(values, &kind, sizeof kind);
  } else if (name == attribute::knob_value) {
    *count = 1;
    const std::int64_t value = source.config;
    std::memcpy(values, &value, sizeof value);
  } else if (name == attribute::engine_index) {
    *count = 1;
    const std::int64_t index = 30 + source.config / 2;
    std::memcpy(values, &index, sizeof index);
  } else if (name == attribute::config_engine) {
    *count = 1;
    (*static_cast<Descriptor**>(values))->config = source.config;
  } else if (name == attribute::engine_notes) {
    const int notes[] = {note::strict_nan, state.note};
    *count = source.config < state.noted ? 2 : 1;
    std::memcpy(values, notes, static_cast<std::size_t>(*count) * sizeof(int));
  } else if (name == attribute::plan_workspace) {
    *count = 1;
    std::memcpy(values, &workspace, sizeof workspace);
  } else {
    return bad;
  }
  return 0;
}

int cudnnBackendFinalize(void* descriptor) {
  if (const int status = called("cudnnBackendFinalize")) return status;
  return finalize(*static_cast<Descriptor*>(descriptor));
}

int cudnnBackendExecute(void*, void* plan, void* pack) {
  if (const int status = called("cudnnBackendExecute")) return status;
  if (!live.contains(plan) || !live.contains(pack)) return dead;
  const auto& made = *static_cast<Descriptor*>(plan);
  const auto& operands = *static_cast<Descriptor*>(pack);
  if (!live.contains(const_cast<Descriptor*>(graph_of(made)))) return dead;
  if (operands.get<void*>(attribute::pack_workspace) == nullptr) return bad;
  if (state.before != nullptr) state.before(state.context);
  state.ran = made.config;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  int& wrong = state.wrong[made.config];
  if (wrong > 0) {
    --wrong;
  } else if (!mock_cudnn::run(*graph_of(made), operands, state.version < 90600)) {
    return bad;
  }
  if (state.fast >= 0 && made.config != state.fast) {
    // On a busy machine all take long; this is slower still.
    const auto longer = 4 * (Clock::now() - begin);
    std::this_thread::sleep_for(std::max<Clock::duration>(longer, std::chrono::milliseconds(10)));
  }
  return 0;
}

void mock_cudnn_reset() {
  state = State();
}
void mock_cudnn_set_version(std::size_t version) {
  state.version = version;
}
void mock_cudnn_fail(const char* function, int after, int status) {
  state.failures[function] = {after, status};
}
void mock_cudnn_refuse_plans(int count) {
  state.refused_plans = count;
}
void mock_cudnn_refuse_graphs(int operations) {
  state.refused_operations = operations;
}
void mock_cudnn_note(int count, int note) {
  state.noted = count;
  state.note = note;
}
void mock_cudnn_fast(int configuration) {
  state.fast = configuration;
}
void mock_cudnn_wrong(int configuration, int times) {
  state.wrong[configuration] = times;
}
void mock_cudnn_before(void (*function)(void*), void* context) {
  state.before = function;
  state.context = context;
}
int mock_cudnn_live() {
  return static_cast<int>(live.size());
}
int mock_cudnn_calls(const char* function) {
  return state.calls[function];
}
const char* mock_cudnn_graph() {
  return state.graph.c_str();
}
int mock_cudnn_ran() {
  return state.ran;
}

}  // extern "C"
