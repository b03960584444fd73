// Computes the bus bandwidth of a trace's collectives, and which rank the others waited for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/trace/trace_index.h"

namespace assay {

/// What a collective is, as far as the trace says it.
struct TracedCollective {
  std::string operation;    ///< "all_gather", as axes name it; else the kernel's name
  std::string type;         ///< "bf16"; empty: unknown
  std::uint64_t bytes = 0;  ///< size of the larger of a rank's two buffers; 0: unknown
  std::uint32_t ranks = 0;  ///< number of ranks that take part; 0: unknown
  std::string group;        ///< the process group's name
  auto operator<=>(const TracedCollective&) const = default;
};

/// `event` is a collective's work on a GPU.
TracedCollective collective_shape(const TraceIndex& index, const TraceEvent& event);

/// Returns the bytes that each link carries for every byte of the buffer, as nccl-tests define bus
/// bandwidth; empty for an operation without such a definition or an unknown number of ranks.
std::optional<double> bus_factor(const TracedCollective& shape);

struct CollectiveGroup {
  TracedCollective shape;
  std::size_t count = 0;
  std::int64_t total = 0, median = 0, shortest = 0;  ///< ns, the wait for stragglers included
  std::optional<double> bus_bandwidth;               ///< bytes/s of the median; empty: unknown
};

/// Returns the collectives among `events`, the work of one GPU; those with the longest total come
/// first.
std::vector<CollectiveGroup> collectives_of(const TraceIndex& index,
                                            const std::vector<const TraceEvent*>& events);

/// How one rank spent its time in the collectives that were found on all ranks.
struct RankWait {
  std::string file;
  std::string device;         ///< its GPU, if the file has several that take part; else empty
  int rank = 0;               ///< as the file says, if it has one; else its position among `ranks`
  std::int64_t duration = 0;  ///< ns of its collectives
  std::int64_t waited = 0;    ///< ns of these, for ranks that came later
  std::size_t came_last = 0;  ///< collectives that the others waited for this rank
  std::int64_t caused = 0;    ///< ns that the longest wait for it took, summed over these
};

/// The collectives of several ranks beside each other. Each file is a rank; in a file where several
/// GPUs take part in collectives, each of them is one. A collective moves bytes only once the last
/// rank is there, so the shortest duration of the ranks is that of the transfer, and the rest of
/// each is a wait. This needs no common clock, but finding out which collectives belong together
/// does (compare_ranks()).
struct RankComparison {
  std::vector<RankWait> ranks;  ///< in the order of the files
  std::size_t matched = 0;      ///< collectives found on all ranks
  std::size_t unmatched = 0;    ///< collectives of the first rank that were not found on all
  std::int64_t transfer = 0;    ///< ns of the matched ones, without waits
  std::string problem;          ///< why they cannot be compared; empty: they can
  /// The largest spread of the ranks' ends of a matched collective, in ns; empty if none matched.
  std::optional<std::int64_t> end_spread;
};

/// Compares the collectives of the ranks of one or several files. Collectives of equal shape match
/// if they end within 100 us or a tenth of their duration of each other. Fewer than two ranks are
/// not compared, which is no problem.
RankComparison compare_ranks(const std::vector<const TraceIndex*>& files);

}  // namespace assay
