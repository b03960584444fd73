// Which rank this process is, and of how many, according to environment variables of the launcher:
// assay itself, mpirun, srun, torchrun and similar programs, dstack.
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
  int here = 1;         ///< ranks this process starts on its machine, including itself
  std::string address;  ///< "host:port" of rank 0; empty: rank 0 sends it through MPI
  std::string token;    ///< what all ranks know; empty: rank 0 sends it through MPI
  bool open = false;    ///< the token follows from the job's identity, which others know too
};

/// Reads an environment variable; null if it is not set.
using ReadVariable = std::function<const char*(const char* name)>;

/// Nullopt: no launcher started this process as one of several. The first launcher whose variables
/// are set decides: a job within a job stands alone. The token is ASSAY_TOKEN, or the content of
/// the file ASSAY_TOKEN_FILE; where neither is set it is derived from the job's identity: that
/// keeps out other jobs, but not an attacker. Error: usage, naming the variable that is missing,
/// not a number, or a token that could be guessed; as read_secret_file().
Result<std::optional<RankPlace>> find_rank_place(const ReadVariable& variable);

/// "node03" of Slurm's "node[03-05,9],other".
std::string first_host(const std::string& node_list);

}  // namespace assay
