// Finds links that are clearly slower than the rest (outliers, here called odd), and the endpoint
// that causes it. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace assay {

/// The rate measured over one directed link, in a unit that all links share; more is better.
struct LinkRate {
  std::string from, to;
  double rate = 0;
};

struct OddLinkRule {
  double least_drop = 0.1;  ///< share of the median; a link closer to the median is never odd
  /// Distance below the median in units of 1.4826 MAD (the median absolute deviation).
  double deviations = 5;
};

struct OddLink {
  std::string from, to;
  double ratio = 0;  ///< rate divided by OddLinks::median
};

/// An endpoint whose links are all odd in one direction or in both.
struct OddEndpoint {
  std::string name;
  bool sends = false, receives = false;  ///< which of its directions are odd
  double ratio = 0;                      ///< median of those links divided by OddLinks::median
};

struct OddLinks {
  double median = 0;                   ///< median rate of the links judged, see find_odd_links()
  std::vector<OddEndpoint> endpoints;  ///< as they first appear, but one with half the links first
  std::vector<OddLink> links;          ///< those that no odd endpoint explains, as given
  bool none() const { return endpoints.empty() && links.empty(); }
};

/// Finds odd endpoints and links. A link is odd if its rate is below the median of all links by
/// more than both bounds of `rule`. Fewer than half of the links can be odd in this way. Among
/// fewer than 4 links none is odd, and `median` is 0. An endpoint is odd in a direction if it has
/// at least 2 links in it, all odd.
///
/// An endpoint with at least half of the links, as each of four has, moves the median itself. If
/// there are 4 or more other links, and all links of the endpoint are below their median by more
/// than both bounds, it is odd in each direction that it has. The other links are then judged
/// alone, and `median` and all ratios refer to them.
OddLinks find_odd_links(std::span<const LinkRate> links, const OddLinkRule& rule = {});

/// Returns one line for each endpoint, then one for each link, in their order: "3 sends and
/// receives at 52% of the median", "the link from 1 to 4 runs at 60% of the median".
std::vector<std::string> describe(const OddLinks& odd);

}  // namespace assay
