// The state of this folder's MIOpen: its solvers, what it remembers, and what calls of its
// interface do.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libraries/convolution.h"

namespace mock_miopen {

using mi300x::Convolution;
using mi300x::ConvolutionTensor;
using Direction = Convolution::Direction;

enum Status {
  success = 0,
  bad_parameter = 3,
  internal_error = 5,
  not_implemented = 6,
  unknown_error = 7
};
enum Algorithm { gemm = 0, direct = 1, winograd = 3, implicit_gemm = 5 };

struct Solver {
  std::uint64_t id;
  const char* name;  // as named in databases
  int algorithm;
  double slower;  // factor by which it is slower than the chip's peak
  std::size_t workspace;
  double tuned = 1;  // factor of its time with its best parameters; 1: it has no parameters
};

struct Perf {  // miopenConvAlgoPerf_t
  int algorithm;
  float time;
  std::size_t memory;
};
struct Immediate {  // miopenConvSolution_t
  float time;
  std::size_t workspace;
  std::uint64_t id;
  int algorithm;
};
struct Handle {
  void* stream = nullptr;
};
struct Descriptor {
  std::vector<int> pads, strides, dilations;
  int groups = 1, find_mode = 5;
};
struct State {
  std::map<std::string, std::pair<int, int>> failures;  // function -> (calls to go, status)
  std::map<std::string, int> calls;
  std::string sequence;
  int find_mode = 0;
  bool refuses = false;
  std::set<std::string> found;          // problems that miopenFind... has seen, with the algorithm
  std::string databases;                // their folder, as named when it was first needed
  std::set<std::string> ready;          // problems with solvers that have been compiled
  std::map<std::string, double> tuned;  // problem with solver -> factor of its time
};
extern State state;
extern std::set<void*> live;

/// Counts a call; a result other than 0 must be returned as the call's status.
int called(const char* function, bool is_work = true);
#define CALLED(function) \
  if (const int status = called(function)) return status
#define CREATED(function) \
  if (const int status = called(function, false)) return status

/// Makes an object that counts as alive until it is destroyed.
template <typename Object>
int create(void** made, Object object) {
  *made = new Object(std::move(object));
  live.insert(*made);
  return success;
}
template <typename Object>
int destroy(void* object) {
  if (live.erase(object) == 0) return bad_parameter;
  delete static_cast<Object*>(object);
  return success;
}

/// The operands of a call in one of the three directions.
struct Operand {
  const void* descriptor;
  const void* data;
};

/// Makes a convolution from the operands, which are in the order of the functions with algorithms.
Convolution convolution_of(Direction direction, const Descriptor& d, const Operand& a,
                           const Operand& b, const Operand& result);

/// Returns the result of a search, the fastest first. If the find-db has a record and the mode
/// trusts it, only that is returned. Otherwise all applicable solvers for which there is room are
/// returned and become the record. `exhaustive`: solvers without parameters in the perf-db get the
/// best ones.
struct SearchRequest {
  int mode = 5;
  bool exhaustive = false;
  std::size_t workspace = SIZE_MAX;
};
std::vector<Solver> search(const Convolution& c, const SearchRequest& request);
/// by_time() returns all applicable solvers, the fastest first. The other function returns those
/// that immediate mode knows, in its order, or in that of the find-db if it has the problem.
std::vector<Solver> by_time(const Convolution& c);
std::vector<Solver> immediate(const Convolution& c);
/// Returns a solver by id; its algorithm is -1 if there is none.
Solver solver_of(std::uint64_t id);
int execute(void* handle, const Convolution& c, const Solver& solver, const void* workspace,
            std::size_t bytes);

// These are functions of the interface, each for all three directions.
int workspace_size(const Convolution& c, std::size_t* bytes);
int find(const Descriptor& d, const Convolution& c, int room, int* count, Perf* found,
         const void* workspace, std::size_t bytes, bool exhaustive);
int run_algorithm(void* handle, const void* alpha, const Convolution& c, int algorithm,
                  const void* beta, const void* workspace, std::size_t bytes);
int list_immediate(const Convolution& c, std::size_t room, std::size_t* count,
                   Immediate* solutions);
int compile(const Convolution& c, std::uint64_t id);
int run_immediate(void* handle, const Convolution& c, const void* workspace, std::size_t bytes,
                  std::uint64_t id);

}  // namespace mock_miopen
