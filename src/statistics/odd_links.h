// Finds links that are clearly slower than the rest (outliers, here called odd), and the endpoint
// that causes it. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace assay {

/// The rate measured over one directed link; more is better.
struct LinkRate {
  std::string from, to;
  double rate = 0;
};

struct OddLinkRule {
  double least_drop = 0.1;  ///< share of the median; a link closer to the median is never odd
  double deviations = 5;    ///< distance below the median in units of 1.4826 MAD
};

struct OddLink {
  std::string from, to;
  double ratio = 0;  ///< rate divided by the median of all links
};

/// An endpoint whose links are all odd in one direction or in both.
struct OddEndpoint {
  std::string name;
  bool sends = false, receives = false;  ///< which of its directions are odd
  double ratio = 0;                      ///< median of those links divided by the median of all
};

struct OddLinks {
  double median = 0;                   ///< median of all links
  std::vector<OddEndpoint> endpoints;  ///< in the order in which they first appear
  std::vector<OddLink> links;          ///< outliers between sound endpoints, in the given order
  bool none() const { return endpoints.empty() && links.empty(); }
};

/// A link is odd if its rate is below the median of all links by both bounds of `rule`. Fewer than
/// half of the links can be odd. Among fewer than 4 links none is odd, because that is too few to
/// tell what is normal. An endpoint needs at least 2 links in a direction to be called odd. If one
/// endpoint has half of the links, as each of four has, it is odd if all its links are below the
/// median of the other links by both bounds; `median` is then that of the other links.
OddLinks find_odd_links(std::span<const LinkRate> links, const OddLinkRule& rule = {});

/// Returns one line for people for each finding: "3 sends and receives at 52% of the median", "the
/// link from 1 to 4 runs at 60% of the median".
std::vector<std::string> describe(const OddLinks& odd);

}  // namespace assay
