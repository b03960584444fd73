// Whether results of TunableOp fit a machine's PyTorch, and results of several GPUs as one file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

/// By key; PyTorch calls them validators.
using Validators = std::vector<std::pair<std::string, std::string>>;

/// What PyTorch on a machine compares a file with. Empty: unknown.
struct TunableMachine {
  std::string pytorch;             ///< "2.9.1"
  std::string hip;                 ///< "702": 100 times the major version plus the minor one
  std::string arch;                ///< "gfx942:sramecc+:xnack-"
  std::string rocblas, hipblaslt;  ///< "5.2.0.5b515cf1bc", "100201-5b515cf1bc"
};
/// The validators that this PyTorch would write. Error: unavailable, if it is older than 2.9, which
/// also compares the name of ROCm's build, or if something is unknown.
Result<Validators> validators_of(const TunableMachine& machine);

/// Why PyTorch, whose validators are `here`, would pass over the whole file: one line for each that
/// is missing, unknown to it, or different. Empty: it takes the file.
std::vector<std::string> misfits(const TunableResults& results, const Validators& here);

struct NamedResults {
  std::string name;  ///< for messages
  TunableResults results;
};
/// All rows, each key once: where files disagree, the faster solution, or the earlier file's if a
/// time is missing. Error: usage, if the files' validators differ, naming the first that does.
Result<TunableResults> merged(std::span<const NamedResults> files);

}  // namespace assay
