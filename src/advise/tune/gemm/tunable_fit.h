// Checks whether PyTorch on a machine would use a results file of its TunableOp, and merges several
// results files, for example those of several GPUs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

/// Facts that PyTorch compares, as keys with values; PyTorch calls them validators.
using Validators = std::vector<std::pair<std::string, std::string>>;

/// What PyTorch on a machine compares with the validators of a results file. An empty value is
/// unknown.
struct TunableOpFacts {
  std::string pytorch;             ///< "2.9.1"
  std::string hip;                 ///< "702": 100 times the major version plus the minor one
  std::string arch;                ///< "gfx942:sramecc+:xnack-"
  std::string rocblas, hipblaslt;  ///< "5.2.0.5b515cf1bc", "100201-5b515cf1bc"
};
/// Returns the validators that this PyTorch would write, in its order. Error: unavailable if a
/// value is unknown, or if PyTorch is older than 2.9, because older ones also compare the name of
/// ROCm's build.
Result<Validators> validators_of(const TunableOpFacts& machine);

/// Returns why PyTorch with the validators `here` would ignore the whole file: one reason for each
/// validator that is missing in the file, unknown to PyTorch, or different, and one if lines end in
/// carriage returns. The list is empty if PyTorch uses the file. The order of validators is
/// irrelevant.
std::vector<std::string> misfits(const TunableResults& results, const Validators& here);

/// A results file with its name.
struct NamedResults {
  std::string name;  ///< name of the file for messages
  TunableResults results;
};
/// Returns the rows of all files, one for each TunableKey, with the validators of the first file.
/// Where files disagree about a key, the faster solution is kept, or that of the earlier file if
/// either time is missing. Error: usage, naming a file whose validators differ from the first
/// one's.
Result<TunableResults> merged(std::span<const NamedResults> files);

}  // namespace assay
