// What the MIOpen of this folder knows and remembers: its solvers, and what calls of its interface
// come to.
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
  const char* name;  // in databases
  int algorithm;
  double slower;  // than the chip's peak
  std::size_t workspace;
  double tuned = 1;  // of its time, with the best of its parameters; 1: it has none
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
  std::map<std::string, std::pair<int, int>> failures;  // function: calls to go, status
  std::map<std::string, int> calls;
  std::string sequence;
  int find_mode = 0;
  bool refuses = false;
  std::set<std::string> found;          // problems that miopenFind... has seen, with the algorithm
  std::string databases;                // their folder, as it was named when it was first needed
  std::set<std::string> ready;          // problems with solvers that were compiled
  std::map<std::string, double> tuned;  // by problem with solver: of its time, with its parameters
};
extern State state;
extern std::set<void*> live;

/// Counts a call; its status, unless 0, is to be returned.
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

/// From the operands in the order of the functions with algorithms.
Convolution convolution_of(Direction direction, const Descriptor& d, const Operand& a,
                           const Operand& b, const Operand& result);

/// What any search comes to, the fastest first: with a record of the find-db, where the mode trusts
/// it, that alone; else all solvers that take it and find room, which then become the record.
/// `exhaustive`: solvers without parameters in the perf-db get the best.
struct SearchRequest {
  int mode = 5;
  bool exhaustive = false;
  std::size_t workspace = SIZE_MAX;
};
std::vector<Solver> search(const Convolution& c, const SearchRequest& request);
/// All solvers that take it, the fastest first; those that immediate mode knows, in its order: that
/// of the find-db, if it has the problem.
std::vector<Solver> by_time(const Convolution& c);
std::vector<Solver> immediate(const Convolution& c);
/// By id; its algorithm is -1 if there is none.
Solver solver_of(std::uint64_t id);
int execute(void* handle, const Convolution& c, const Solver& solver, const void* workspace,
            std::size_t bytes);

// The functions of the interface, each for all three directions.
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
