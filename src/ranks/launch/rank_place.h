// Finds out which rank of how many this process is, from environment variables of the launcher:
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
  int local_rank = 0;   ///< its number among the ranks of its host
  int here = 1;         ///< ranks that this process starts here, including itself
  std::string address;  ///< "host:port" of rank 0; empty: rank 0 sends it through MPI
  std::string token;    ///< the secret of all ranks; empty: rank 0 sends it through MPI
  bool open = false;    ///< the token follows from the job's identity, which other users know too
};

/// Reads an environment variable; returns null if it is not set.
using ReadVariable = std::function<const char*(const char* name)>;

/// Returns nullopt if no launcher started this process as one of several. The first launcher whose
/// variables are set decides, so that a job within a job stands alone. The token is ASSAY_TOKEN, or
/// the content of the file ASSAY_TOKEN_FILE. If neither is set, rank 0 of an MPI job sends one;
/// that of Slurm, torchrun and dstack is derived from the job's identity, which keeps out other
/// jobs, but not an attacker; with ASSAY_ADDRESS it is an error. Error: usage, naming the variable
/// that is missing, not a number, or a token that could be guessed; as read_secret_file()
/// (secret_file.h).
Result<std::optional<RankPlace>> find_rank_place(const ReadVariable& variable);

/// Returns the first host of a list of Slurm's: "node03" for "node[03-05,9],other", "rack1n1" for
/// "rack[1-2]n[1-4]".
std::string first_host(const std::string& node_list);

}  // namespace assay
