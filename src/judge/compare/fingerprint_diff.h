// Lists the differences between two fingerprints, ranked by how likely each explains a performance
// gap.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "machine/system/machine.h"

namespace assay {

enum class Likelihood {
  high,      ///< bounds a rate directly: the device, its partition, its power, its links, the CPUs
             ///< allowed
  medium,    ///< software and settings that often change results
  low,       ///< may change results, but seldom does
  identity,  ///< which machine it is: names, serial numbers, assay's own build
};

struct Difference {
  std::string path;  ///< "accelerators.0-7.power_cap_watts": equal changes are merged
  Json a, b;         ///< null: absent on that side
  Likelihood likelihood = Likelihood::low;
  std::string why;  ///< what it affects; one sentence
};

/// Returns the differences, most likely first; among equally likely ones the hypervisor comes
/// first, then what limits a process and its machine, then what assay could open. Values that an
/// anonymized capture hides are no differences, and neither are objects without members.
/// Fingerprints are not trusted: any JSON is accepted.
std::vector<Difference> diff_fingerprints(const Json& a, const Json& b);

std::string_view name_of(Likelihood likelihood);
/// Returns a list of {"path", "a", "b", "likelihood", "why"}.
Json to_json(const std::vector<Difference>& differences);

}  // namespace assay
