// One of the ranks that measure together.
#pragma once

#include <string>

namespace assay {

/// A rank as the other ranks know it.
struct TeamMember {
  int rank = 0;
  int local_rank = 0;  ///< number among the ranks of its host, from 0
  std::string host;
  int process = 0;  ///< its process id on its host
};

}  // namespace assay
