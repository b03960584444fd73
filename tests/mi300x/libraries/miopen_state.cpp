#include "libraries/miopen_state.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libraries/hooks.h"
#include "libraries/miopen_databases.h"

namespace mock_miopen {

State state;
std::set<void*> live;

namespace {

// Immediate mode knows the first three, in an order that is not by speed.
constexpr Solver solvers[] = {
    {91, "GemmFwdRest", gemm, 4, 4096},
    {37, "ConvBinWinogradRxSf2x3g1", winograd, 3, 0},
    {114, "ConvHipImplicitGemmGroupFwdXdlops", implicit_gemm, 1.5, 0, 0.5},
    {11, "ConvDirectNaiveConvFwd", direct, 6, 0}};
constexpr std::size_t immediate_solvers = 3;

/// Returns whether a solver supports the convolution; Winograd supports only its own filter size.
bool applicable(const Solver& solver, const Convolution& c) {
  if (state.refuses) return false;
  if (solver.algorithm != winograd) return true;
  return c.direction != Direction::weights && c.pads.size() == 2 && c.w.extents[2] == 3 &&
         c.w.extents[3] == 3 && c.strides == std::vector<int>{1, 1} &&
         c.dilations == std::vector<int>{1, 1} && c.groups == 1;
}

std::string key_of(const Convolution& c, int algorithm) {
  return database_key(DatabaseKind::find, c) + "/" + std::to_string(algorithm);
}

const std::string& databases() {
  if (state.databases.empty()) state.databases = user_database_folder();
  return state.databases;
}
DatabaseRecord record_of(DatabaseKind kind, const Convolution& c) {
  return load_record(databases(), kind, database_key(kind, c));
}

/// Returns the factor of a solver's time with the parameters with which it was compiled.
double& tuned_of(const Solver& solver, const Convolution& c) {
  return state.tuned.try_emplace(key_of(c, solver.algorithm), 1).first->second;
}
/// Compiles it with the parameters in the perf-db.
void make_ready(const Solver& solver, const Convolution& c) {
  const bool known = record_of(DatabaseKind::performance, c).contains(solver.name);
  tuned_of(solver, c) = known ? solver.tuned : 1;
  state.ready.insert(key_of(c, solver.algorithm));
}

double seconds_of(const Solver& solver, const Convolution& c) {
  return solver.slower * tuned_of(solver, c) * c.seconds();
}
float milliseconds(const Solver& solver, const Convolution& c) {
  return static_cast<float>(1000 * seconds_of(solver, c));
}

std::vector<Solver> applicable_solvers(const Convolution& c) {
  std::vector<Solver> all;
  std::copy_if(std::begin(solvers), std::end(solvers), std::back_inserter(all),
               [&](const Solver& solver) { return applicable(solver, c); });
  return all;
}

/// Returns the solvers in the find-db's record, the fastest first.
std::vector<Solver> recorded(const Convolution& c) {
  std::vector<std::pair<double, Solver>> timed;
  for (const auto& [name, values] : record_of(DatabaseKind::find, c)) {
    for (const Solver& solver : solvers) {
      if (name == solver.name) timed.emplace_back(std::stod(values), solver);
    }
  }
  std::sort(timed.begin(), timed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Solver> all;
  for (const auto& [time, solver] : timed) all.push_back(solver);
  return all;
}

/// Returns MIOPEN_FIND_ENFORCE: 1 none, 2 DB_UPDATE, 3 SEARCH, 4 both.
int enforced() {
  const char* const text = std::getenv("MIOPEN_FIND_ENFORCE");
  if (text == nullptr || *text == '\0') return 1;
  const std::map<std::string, int> names = {
      {"NONE", 1}, {"DB_UPDATE", 2}, {"SEARCH", 3}, {"SEARCH_DB_UPDATE", 4}};
  const auto name = names.find(text);
  return name != names.end() ? name->second : std::stoi(text);
}

/// Searches for the best parameters, unless the perf-db has some that need not be improved.
void tune(const Convolution& c, bool update) {
  DatabaseRecord record = record_of(DatabaseKind::performance, c);
  for (const Solver& solver : applicable_solvers(c)) {
    if (solver.tuned == 1 || (record.contains(solver.name) && !update)) continue;
    record[solver.name] = "256,128,64,32,8,8";
  }
  if (record.empty()) return;
  store_record(databases(), DatabaseKind::performance, database_key(DatabaseKind::performance, c),
               record);
}

}  // namespace

/// Counts a call; a result other than 0 must be returned as the call's status.
int called(const char* function, bool is_work) {
  ++state.calls[function];
  if (is_work) {
    state.sequence +=
        (state.sequence.empty() ? "" : " ") + std::string(function + std::strlen("miopen"));
  }
  const auto named = [&](const char* variable) {
    const char* const name = std::getenv(variable);
    return name != nullptr && std::strcmp(name, function) == 0;
  };
  if (named("MOCK_MIOPEN_CRASH")) std::abort();
  if (named("MOCK_MIOPEN_FAIL")) return internal_error;
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
      static_cast<Handle*>(handle)->stream, [c] { c.run(); }, seconds_of(solver, c));
  return status == 0 ? success : internal_error;
}

std::vector<Solver> by_time(const Convolution& c) {
  std::vector<Solver> all = applicable_solvers(c);
  std::sort(all.begin(), all.end(),
            [&](const Solver& a, const Solver& b) { return seconds_of(a, c) < seconds_of(b, c); });
  return all;
}

std::vector<Solver> search(const Convolution& c, const SearchRequest& request) {
  const int enforce = enforced();
  const bool update = enforce == 2 || enforce == 4;
  std::vector<Solver> known = recorded(c);
  if (enforce == 1 && request.mode != 1 && !known.empty()) {
    make_ready(known.front(), c);
    return {known.front()};
  }
  // Within a process, a search is not repeated.
  if (!known.empty() && std::all_of(known.begin(), known.end(), [&](const Solver& solver) {
        return state.ready.contains(key_of(c, solver.algorithm));
      })) {
    return known;
  }
  if (request.exhaustive || enforce >= 3) tune(c, update);
  DatabaseRecord record;
  std::vector<Solver> all;
  bool whole = true;
  for (const Solver& solver : applicable_solvers(c)) make_ready(solver, c);
  for (const Solver& solver : by_time(c)) {
    if (solver.workspace > request.workspace) {
      whole = false;
      continue;
    }
    constexpr const char* directions[] = {"Fwd", "BwdData", "BwdWeights"};
    const std::map<int, std::string> algorithms = {{gemm, "GEMM"},
                                                   {direct, "Direct"},
                                                   {winograd, "Winograd"},
                                                   {implicit_gemm, "ImplicitGEMM"}};
    // MOCK_MIOPEN_MISJUDGES makes it take its slowest solver for the fastest.
    const bool misjudges = std::getenv("MOCK_MIOPEN_MISJUDGES") != nullptr;
    const float time = misjudges ? 1 / milliseconds(solver, c) : milliseconds(solver, c);
    record[solver.name] = std::to_string(time) + "," + std::to_string(solver.workspace) +
                          ",miopenConvolution" + directions[static_cast<int>(c.direction)] +
                          "Algo" + algorithms.at(solver.algorithm);
    all.push_back(solver);
  }
  if (whole && !record.empty()) {
    store_record(databases(), DatabaseKind::find, database_key(DatabaseKind::find, c), record);
  }
  return all;
}

int workspace_size(const Convolution& c, std::size_t* bytes) {
  if (!c.fits()) return bad_parameter;
  *bytes = 0;
  for (const Solver& solver : by_time(c)) *bytes = std::max(*bytes, solver.workspace);
  return success;
}

int find(const Descriptor& d, const Convolution& c, int room, int* count, Perf* found,
         const void* workspace, std::size_t bytes, bool exhaustive) {
  if (!c.fits() || c.x_data == nullptr || c.w_data == nullptr || c.y_data == nullptr || room < 1) {
    return bad_parameter;
  }
  state.find_mode = d.find_mode;
  *count = 0;
  for (const Solver& solver :
       search(c, {d.find_mode, exhaustive, workspace != nullptr ? bytes : 0})) {
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
  // MIOpen accepts only problems that its find function was asked about before.
  if (!state.found.contains(key_of(c, algorithm))) return unknown_error;
  for (const Solver& solver : solvers) {
    if (solver.algorithm == algorithm) return execute(handle, c, solver, workspace, bytes);
  }
  return bad_parameter;
}

std::vector<Solver> immediate(const Convolution& c) {
  if (state.refuses) return {};
  std::vector<Solver> all = recorded(c);
  if (!all.empty()) return all;
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
  if (!c.fits() || !known) return bad_parameter;
  make_ready(solver_of(id), c);
  return success;
}

int run_immediate(void* handle, const Convolution& c, const void* workspace, std::size_t bytes,
                  std::uint64_t id) {
  const Solver solver = solver_of(id);
  if (!state.ready.contains(key_of(c, solver.algorithm)) && compile(c, id) != success) {
    return bad_parameter;
  }
  return execute(handle, c, solver, workspace, bytes);
}

Solver solver_of(std::uint64_t id) {
  for (const Solver& solver : solvers) {
    if (solver.id == id) return solver;
  }
  return {0, "", -1, 1, 0};
}

}  // namespace mock_miopen
