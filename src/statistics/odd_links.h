// Which links of many are clearly slower than the rest, and whose fault it is. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace assay {

/// What went over one directed link: a rate, so that more is better.
struct LinkRate {
  std::string from, to;
  double rate = 0;
};

struct OddLinkRule {
  double least_drop = 0.1;  ///< of the median: less than this below it is never odd
  double deviations = 5;    ///< of 1.4826 MAD below the median
};

struct OddLink {
  std::string from, to;
  double ratio = 0;  ///< to the median of all links
};

/// An endpoint of which every link is odd in one direction or in both.
struct OddEndpoint {
  std::string name;
  bool sends = false, receives = false;  ///< which of its directions are odd
  double ratio = 0;                      ///< of the median of those links to that of all
};

struct OddLinks {
  double median = 0;                   ///< of all links
  std::vector<OddEndpoint> endpoints;  ///< in the order in which they first appear
  std::vector<OddLink> links;          ///< that no odd endpoint explains, in the given order
  bool none() const { return endpoints.empty() && links.empty(); }
};

/// A link is odd if it lies below the median of all by both bounds of `rule`. Fewer than half of
/// the links can be odd, and of fewer than 4 none is: then nothing says which of them are the rule.
/// An endpoint takes at least 2 links in a direction to be called odd. Of four endpoints, where one
/// has half of the links, it is odd if all of them lie below the other three's by both bounds; the
/// median is then that of the others.
OddLinks find_odd_links(std::span<const LinkRate> links, const OddLinkRule& rule = {});

/// One line for people for each finding: "3 sends and receives at 52% of the median", "the link
/// from 1 to 4 runs at 60% of the median".
std::vector<std::string> describe(const OddLinks& odd);

}  // namespace assay
