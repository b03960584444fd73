// One verdict for what several ranks computed together.
#pragma once

#include <cstdint>
#include <string>

#include "benchmarks/benchmark.h"
#include "core/result.h"
#include "team/team.h"

namespace assay {

/// Makes of what every rank found (`wrong` elements; `detail`: its first wrong one) the same
/// Verification on all ranks: it passed if no rank has a wrong element; the detail is that of the
/// lowest rank that has one, after its name. All ranks call it together.
Result<Verification> verification_of_all(Team& team, std::string method, std::uint64_t wrong,
                                         const std::string& detail);

}  // namespace assay
