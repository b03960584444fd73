// Which rank of how many this process is, as whoever started it says in the environment: assay
// itself, mpirun, srun, torchrun and the like, dstack.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/result.h"

namespace assay {

struct RankPlace {
  std::string launcher;  ///< "assay", "Open MPI", "MPICH", "Slurm", "torchrun", "dstack"
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int here = 1;         ///< ranks that this process starts on its machine, itself included
  std::string address;  ///< "host:port" of rank 0; empty: rank 0 tells it through MPI
  std::string token;    ///< that all ranks show; empty: rank 0 tells it through MPI
};

/// A variable of the environment, null if it is not set.
using ReadVariable = std::function<const char*(const char* name)>;

/// Empty: nobody started this process as one of several. The first launcher that says so decides: a
/// job within a job is its own. Without ASSAY_TOKEN the token is made of the job's identity, which
/// keeps other jobs out, not an attacker. Error: usage, naming the variable that is not a number or
/// is missing.
Result<std::optional<RankPlace>> find_rank_place(const ReadVariable& variable);

/// The first host of Slurm's "node[03-05,9],other": "node03".
std::string first_host(const std::string& node_list);

}  // namespace assay
