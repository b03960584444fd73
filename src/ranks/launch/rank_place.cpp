#include "ranks/launch/rank_place.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/hash.h"
#include "core/units.h"
#include "ranks/launch/secret_file.h"

namespace assay {
namespace {

constexpr int most_ranks = 65536;
constexpr int first_job_port = 20000, job_ports = 12000;  // below the kernel's ephemeral ports
constexpr int dstack_port = 29501;

/// The environment variables in which each launcher passes a process its rank.
struct LauncherVariables {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;  ///< null: it starts one process per machine
};

constexpr std::array<LauncherVariables, 6> launchers = {{
    {"assay", "ASSAY_RANK", "ASSAY_RANKS", "ASSAY_LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"dstack", "DSTACK_NODE_RANK", "DSTACK_NODES_NUM", nullptr},
}};

class Reader {
 public:
  explicit Reader(const ReadVariable& variable) : variable_(variable) {}

  bool has(const char* name) const { return variable_(name) != nullptr; }
  std::string text(const char* name) const {
    const char* value = variable_(name);
    return value == nullptr ? "" : value;
  }
  Result<int> number(const char* name, int least, int most) const {
    const auto number = parse_integer(text(name));
    if (!number.ok() || *number < static_cast<std::uint64_t>(least) ||
        *number > static_cast<std::uint64_t>(most)) {
      return Error{ErrorKind::usage, fmt::format("{}=\"{}\" is not allowed; allowed: {} to {}",
                                                 name, text(name), least, most)};
    }
    return static_cast<int>(*number);
  }
  Result<std::string> needed(const char* name, const char* why) const {
    if (text(name).empty()) {
      return Error{ErrorKind::usage, fmt::format("{} is not set; {}", name, why)};
    }
    return text(name);
  }

 private:
  const ReadVariable& variable_;
};

/// Returns a port that differs between jobs on one machine.
int port_of_job(const std::string& identity) {
  const std::string hash = sha256_hex(identity).substr(0, 8);
  return first_job_port + static_cast<int>(std::stoul(hash, nullptr, 16) % job_ports);
}

/// Derives the token from the job's identity if none was given.
void complete_token(const std::string& identity, RankPlace& place) {
  place.open = place.token.empty();
  if (place.open) place.token = sha256_hex("assay " + identity);
}

Status complete_slurm(const Reader& reader, RankPlace& place) {
  const std::string nodes = reader.has("SLURM_STEP_NODELIST") ? reader.text("SLURM_STEP_NODELIST")
                                                              : reader.text("SLURM_JOB_NODELIST");
  const std::string host = first_host(nodes);
  if (host.empty()) {
    return Error{ErrorKind::usage,
                 "SLURM_STEP_NODELIST is not set; start the ranks with srun, or set ASSAY_ADDRESS"};
  }
  const std::string job =
      fmt::format("slurm {}.{}", reader.text("SLURM_JOB_ID"), reader.text("SLURM_STEP_ID"));
  place.address = fmt::format("{}:{}", host, port_of_job(job));
  complete_token(job, place);
  return {};
}

/// torchrun's own store listens on MASTER_PORT, so assay's rank 0 listens on the next port.
Status complete_torchrun(const Reader& reader, RankPlace& place) {
  const std::string host =
      TRY(reader.needed("MASTER_ADDR", "with RANK and WORLD_SIZE it names rank 0's host"));
  const int port = TRY(reader.number("MASTER_PORT", 1, 65534));
  place.address = fmt::format("{}:{}", host, port + 1);
  complete_token(fmt::format("torchrun {} {}", reader.text("TORCHELASTIC_RUN_ID"), place.address),
                 place);
  return {};
}

/// dstack starts one process per node, which then starts the ranks for the node's GPUs.
Status complete_dstack(const Reader& reader, RankPlace& place) {
  const std::string host =
      TRY(reader.needed("DSTACK_MASTER_NODE_IP", "with DSTACK_NODE_RANK it names rank 0's host"));
  place.here = 1;
  if (reader.has("DSTACK_GPUS_PER_NODE") && reader.text("DSTACK_GPUS_PER_NODE") != "0") {
    place.here = TRY(reader.number("DSTACK_GPUS_PER_NODE", 1, most_ranks));
  }
  place.rank *= place.here;
  place.size *= place.here;
  place.local_rank = 0;
  place.address = fmt::format("{}:{}", host, dstack_port);
  complete_token(fmt::format("dstack {} {}", reader.text("DSTACK_RUN_NAME"), place.address), place);
  return {};
}

/// Returns the token given by the user or by the rank that started this one; empty if there is
/// none.
Result<std::string> given_token(const Reader& reader) {
  if (!reader.text("ASSAY_TOKEN").empty()) {
    return check_secret(reader.text("ASSAY_TOKEN"), "ASSAY_TOKEN");
  }
  const std::string file = reader.text("ASSAY_TOKEN_FILE");
  return file.empty() ? std::string() : read_secret_file(file);
}

Status complete(const Reader& reader, RankPlace& place) {
  place.token = TRY(given_token(reader));
  if (reader.has("ASSAY_ADDRESS")) {  // takes precedence over the launcher's variables
    place.address = reader.text("ASSAY_ADDRESS");
    if (!place.token.empty()) return {};
    return Error{ErrorKind::usage,
                 "ASSAY_TOKEN is not set, nor ASSAY_TOKEN_FILE; all ranks show rank 0 that they "
                 "know it"};
  }
  if (place.launcher == "assay") {
    return Error{ErrorKind::usage, "ASSAY_ADDRESS is not set; it is rank 0's address, HOST:PORT"};
  }
  if (place.launcher == "Slurm") return complete_slurm(reader, place);
  if (place.launcher == "torchrun") return complete_torchrun(reader, place);
  if (place.launcher == "dstack") return complete_dstack(reader, place);
  return {};  // MPI
}

}  // namespace

std::string first_host(const std::string& node_list) {
  std::string host;
  // Brackets hold numbers and ranges of them. The name has the first number of each bracket.
  bool in_brackets = false, in_first_number = false;
  for (const char c : node_list) {
    if (c == '[' || c == ']') {
      in_brackets = in_first_number = c == '[';
      continue;
    }
    if (!in_brackets && c == ',') break;
    if (c == ',' || (in_brackets && c == '-')) in_first_number = false;
    if (!in_brackets || in_first_number) host += c;
  }
  return host;
}

Result<std::optional<RankPlace>> find_rank_place(const ReadVariable& variable) {
  const Reader reader(variable);
  for (const LauncherVariables& launcher : launchers) {
    if (!reader.has(launcher.rank) || !reader.has(launcher.size)) continue;
    RankPlace place;
    place.launcher = launcher.launcher;
    place.size = TRY(reader.number(launcher.size, 1, most_ranks));
    place.rank = TRY(reader.number(launcher.rank, 0, place.size - 1));
    if (launcher.local_rank != nullptr && reader.has(launcher.local_rank)) {
      place.local_rank = TRY(reader.number(launcher.local_rank, 0, most_ranks));
    }
    if (place.size > 1 || place.launcher == "dstack") TRY(complete(reader, place));
    if (place.size == 1) return std::optional<RankPlace>();
    return std::optional(std::move(place));
  }
  return std::optional<RankPlace>();
}

}  // namespace assay
