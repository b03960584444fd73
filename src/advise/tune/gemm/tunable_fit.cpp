#include "advise/tune/gemm/tunable_fit.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <unordered_map>

#include "core/shown_text.h"

namespace assay {
namespace {

constexpr std::size_t shown = 60;

/// The validators as a map. If a key occurs twice, the later value counts, as in PyTorch.
std::map<std::string, std::string> as_map(const Validators& validators) {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : validators) map[key] = value;
  return map;
}

/// A version as a number, major * 1000 + minor, so that "2.10.0" is above "2.9"; 0 if `text` is not
/// a version.
int number_of_version(std::string_view text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  const auto at = std::from_chars(text.data(), end, major);
  if (at.ec != std::errc() || at.ptr == end || *at.ptr != '.') return 0;
  if (std::from_chars(at.ptr + 1, end, minor).ec != std::errc()) return 0;
  return major * 1000 + minor;
}

}  // namespace

Result<Validators> validators_of(const TunableOpFacts& machine) {
  // PyTorch 2.9 replaced the validator ROCM_VERSION
  // (https://github.com/pytorch/pytorch/pull/162067).
  if (number_of_version(machine.pytorch) < 2009) {
    return Error{ErrorKind::unavailable,
                 fmt::format("PyTorch {} also compares the name of ROCm's build, which only that "
                             "PyTorch knows; give a results file that it wrote",
                             shown_line(machine.pytorch, shown))};
  }
  Validators validators = {{"PT_VERSION", machine.pytorch},
                           {"HIP_VERSION", machine.hip},
                           {"HIPBLASLT_VERSION", machine.hipblaslt},
                           {"GCN_ARCH_NAME", machine.arch},
                           {"ROCBLAS_VERSION", machine.rocblas}};
  for (const auto& [key, value] : validators) {
    if (value.empty() || value.find_first_of(",\r\n") != std::string::npos) {
      return Error{ErrorKind::unavailable, fmt::format("{} is unknown on this machine", key)};
    }
  }
  return validators;
}

std::vector<std::string> misfits(const TunableResults& results, const Validators& here) {
  const auto file = as_map(results.validators), wanted = as_map(here);
  std::vector<std::string> reasons;
  if (results.carriage_returns) {
    reasons.emplace_back("its lines end in CR LF, which PyTorch takes as part of every version");
  }
  for (const auto& [key, value] : wanted) {
    const auto found = file.find(key);
    if (found == file.end()) {
      reasons.push_back(fmt::format("{} is missing; here it is {}", shown_line(key, shown),
                                    shown_line(value, shown)));
    } else if (found->second != value) {
      reasons.push_back(fmt::format("{} is {}, here it is {}", shown_line(key, shown),
                                    shown_line(found->second, shown), shown_line(value, shown)));
    }
  }
  for (const auto& [key, value] : file) {
    if (!wanted.contains(key)) {
      reasons.push_back(fmt::format("{} is unknown to the PyTorch here", shown_line(key, shown)));
    }
  }
  return reasons;
}

Result<TunableResults> merged(std::span<const NamedResults> files) {
  TunableResults all;
  std::unordered_map<std::string, std::size_t> places;  // index of each key in all.rows
  for (const NamedResults& file : files) {
    if (&file == &files.front()) {
      all.validators = file.results.validators;
    } else {
      const auto reasons =
          misfits({file.results.validators, {}, {}, false}, files.front().results.validators);
      if (!reasons.empty()) {
        return Error{ErrorKind::usage,
                     fmt::format("{} does not fit {}: {} (\"here\" is the latter)", file.name,
                                 files.front().name, reasons.front())};
      }
    }
    for (const TunableRow& row : file.results.rows) {
      const auto [place, added] =
          places.try_emplace(row.key.op + "," + row.key.parameters, all.rows.size());
      if (added) {
        all.rows.push_back(row);
        continue;
      }
      TunableRow& known = all.rows[place->second];
      const auto before = known.milliseconds(), now = row.milliseconds();
      if (before && now && *now < *before) known = row;
    }
  }
  return all;
}

}  // namespace assay
