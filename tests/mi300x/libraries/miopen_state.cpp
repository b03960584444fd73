#include "libraries/miopen_state.h"

#include <algorithm>
#include <cstring>

#include "libraries/hooks.h"

namespace mock_miopen {

State state;
std::set<void*> live;

namespace {

// Immediate mode knows the first three, in another order than they are fast.
constexpr Solver solvers[] = {
    {91, gemm, 4, 4096}, {37, winograd, 3, 0}, {114, implicit_gemm, 1.5, 0}, {11, direct, 6, 0}};
constexpr std::size_t immediate_solvers = 3;

/// Whether a solver takes it at all: Winograd only the filter it is made for.
bool applicable(const Solver& solver, const Convolution& c) {
  if (state.refuses) return false;
  if (solver.algorithm != winograd) return true;
  return c.direction != Direction::weights && c.pads.size() == 2 && c.w.extents[2] == 3 &&
         c.w.extents[3] == 3 && c.strides == std::vector<int>{1, 1} &&
         c.dilations == std::vector<int>{1, 1} && c.groups == 1;
}

std::string key_of(const Convolution& c, int algorithm) {
  std::string key = std::to_string(static_cast<int>(c.direction)) + "/" + std::to_string(algorithm);
  for (const auto* tensor : {&c.x, &c.w, &c.y}) {
    for (const int extent : tensor->extents) key += "," + std::to_string(extent);
  }
  return key;
}

float milliseconds(const Solver& solver, const Convolution& c) {
  return static_cast<float>(1000 * solver.slower * c.seconds());
}

}  // namespace

/// Counts a call; its status, unless 0, is to be returned.
int called(const char* function, bool is_work) {
  ++state.calls[function];
  if (is_work) {
    state.sequence +=
        (state.sequence.empty() ? "" : " ") + std::string(function + std::strlen("miopen"));
  }
  const auto planned = state.failures.find(function);
  if (planned == state.failures.end() || planned->second.first-- > 0) return success;
  const int status = planned->second.second;
  state.failures.erase(planned);
  return status;
}
Convolution convolution_of(Direction direction, const Descriptor& d, const Operand& a,
                           const Operand& b, const Operand& result) {
  const auto& tensor = [](const Operand& operand) -> const ConvolutionTensor& {
    return *static_cast<const ConvolutionTensor*>(operand.descriptor);
  };
  const Operand& x = direction == Direction::forward   ? a
                     : direction == Direction::weights ? b
                                                       : result;
  const Operand& w = direction == Direction::weights ? result : b;
  const Operand& y = direction == Direction::forward ? result : a;
  Convolution c;
  c.direction = direction;
  c.x = tensor(x);
  c.w = tensor(w);
  c.y = tensor(y);
  c.pads = d.pads;
  c.strides = d.strides;
  c.dilations = d.dilations;
  c.groups = d.groups;
  c.x_data = const_cast<void*>(x.data);
  c.w_data = const_cast<void*>(w.data);
  c.y_data = const_cast<void*>(y.data);
  return c;
}

int execute(void* handle, const Convolution& c, const Solver& solver, const void* workspace,
            std::size_t bytes) {
  if (c.x_data == nullptr || c.w_data == nullptr || c.y_data == nullptr) return bad_parameter;
  if (bytes < solver.workspace || (solver.workspace > 0 && workspace == nullptr)) {
    return bad_parameter;
  }
  const int status = mi300x::enqueue(
      static_cast<Handle*>(handle)->stream, [c] { c.run(); }, solver.slower * c.seconds());
  return status == 0 ? success : internal_error;
}

/// All solvers that take it, the fastest first.
std::vector<Solver> by_time(const Convolution& c) {
  std::vector<Solver> all;
  std::copy_if(std::begin(solvers), std::end(solvers), std::back_inserter(all),
               [&](const Solver& solver) { return applicable(solver, c); });
  std::sort(all.begin(), all.end(),
            [](const Solver& a, const Solver& b) { return a.slower < b.slower; });
  return all;
}

int workspace_size(const Convolution& c, std::size_t* bytes) {
  if (!c.fits()) return bad_parameter;
  *bytes = 0;
  for (const Solver& solver : by_time(c)) *bytes = std::max(*bytes, solver.workspace);
  return success;
}

int find(const Descriptor& d, const Convolution& c, int room, int* count, Perf* found,
         const void* workspace, std::size_t bytes) {
  if (!c.fits() || c.x_data == nullptr || c.w_data == nullptr || c.y_data == nullptr || room < 1) {
    return bad_parameter;
  }
  state.find_mode = d.find_mode;
  *count = 0;
  for (const Solver& solver : by_time(c)) {
    if (solver.workspace > bytes || (solver.workspace > 0 && workspace == nullptr)) continue;
    if (*count == room) break;
    found[(*count)++] = {solver.algorithm, milliseconds(solver, c), solver.workspace};
    state.found.insert(key_of(c, solver.algorithm));
  }
  return *count > 0 ? success : not_implemented;
}

int run_algorithm(void* handle, const void* alpha, const Convolution& c, int algorithm,
                  const void* beta, const void* workspace, std::size_t bytes) {
  if (!c.fits() || *static_cast<const float*>(alpha) != 1 ||
      *static_cast<const float*>(beta) != 0) {
    return bad_parameter;
  }
  // MIOpen takes only what its find function was asked about before.
  if (!state.found.contains(key_of(c, algorithm))) return unknown_error;
  for (const Solver& solver : solvers) {
    if (solver.algorithm == algorithm) return execute(handle, c, solver, workspace, bytes);
  }
  return bad_parameter;
}

std::vector<Solver> immediate(const Convolution& c) {
  std::vector<Solver> all;
  std::copy_if(std::begin(solvers), std::begin(solvers) + immediate_solvers,
               std::back_inserter(all),
               [&](const Solver& solver) { return applicable(solver, c); });
  return all;
}

int list_immediate(const Convolution& c, std::size_t room, std::size_t* count,
                   Immediate* solutions) {
  if (!c.fits()) return bad_parameter;
  *count = 0;
  for (const Solver& solver : immediate(c)) {
    if (*count == room) break;
    solutions[(*count)++] = {milliseconds(solver, c), solver.workspace, solver.id,
                             solver.algorithm};
  }
  return success;
}

int compile(const Convolution& c, std::uint64_t id) {
  const auto all = immediate(c);
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const Solver& solver) { return solver.id == id; });
  return c.fits() && known ? success : bad_parameter;
}

int run_immediate(void* handle, const Convolution& c, const void* workspace, std::size_t bytes,
                  std::uint64_t id) {
  if (compile(c, id) != success) return bad_parameter;
  return execute(handle, c, solver_of(id), workspace, bytes);
}

Solver solver_of(std::uint64_t id) {
  for (const Solver& solver : solvers) {
    if (solver.id == id) return solver;
  }
  return {0, -1, 1, 0};
}

}  // namespace mock_miopen
