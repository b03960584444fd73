#include "statistics/odd_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "statistics/summary.h"

namespace assay {
namespace {

constexpr std::size_t least_links = 4;
constexpr std::size_t least_of_endpoint = 2;

/// The links of one direction of one endpoint.
struct LinkEnd {
  std::vector<double> rates;
  bool all_odd = true;

  void add(double rate, bool odd) {
    rates.push_back(rate);
    all_odd = all_odd && odd;
  }
  bool is_odd() const { return all_odd && rates.size() >= least_of_endpoint; }
};

struct Ends {
  std::string name;
  LinkEnd sends, receives;
};

/// All endpoints in the order in which they first appear.
class EndsByName {
 public:
  Ends& of(const std::string& name) {
    const auto [place, is_new] = index_.try_emplace(name, all_.size());
    if (is_new) all_.push_back({name, {}, {}});
    return all_[place->second];
  }
  const std::vector<Ends>& all() const { return all_; }

 private:
  std::vector<Ends> all_;
  std::unordered_map<std::string, std::size_t> index_;
};

OddEndpoint odd_endpoint(const Ends& ends, double middle) {
  OddEndpoint odd{ends.name, ends.sends.is_odd(), ends.receives.is_odd(), 0};
  std::vector<double> rates;
  for (const LinkEnd* side : {&ends.sends, &ends.receives}) {
    if (side->is_odd()) rates.insert(rates.end(), side->rates.begin(), side->rates.end());
  }
  odd.ratio = median(std::move(rates)) / middle;
  return odd;
}

/// Returns the rate below which a link is odd among links of these rates.
double bound_of(const std::vector<double>& rates, const OddLinkRule& rule) {
  const double middle = median(rates);
  std::vector<double> distances;
  for (const double rate : rates) distances.push_back(std::abs(rate - middle));
  const double deviation = 1.4826 * median(std::move(distances));
  return middle - std::max(rule.least_drop * middle, rule.deviations * deviation);
}

/// With four endpoints, each has half of the links, so the median of all links cannot reveal a slow
/// endpoint. The other links can: an endpoint is an outcast if each of its links is odd compared
/// with the links that do not touch it.
std::optional<OddLinks> find_outcast(std::span<const LinkRate> links, const OddLinkRule& rule,
                                     const EndsByName& ends) {
  for (const Ends& one : ends.all()) {
    std::vector<LinkRate> rest;
    std::vector<double> rest_rates, own;
    for (const LinkRate& link : links) {
      if (link.from == one.name || link.to == one.name) {
        own.push_back(link.rate);
      } else {
        rest.push_back(link);
        rest_rates.push_back(link.rate);
      }
    }
    if (rest.size() < least_links || own.size() * 2 < links.size()) continue;
    if (*std::max_element(own.begin(), own.end()) >= bound_of(rest_rates, rule)) continue;
    OddLinks found = find_odd_links(rest, rule);
    found.endpoints.insert(found.endpoints.begin(),
                           {one.name, !one.sends.rates.empty(), !one.receives.rates.empty(),
                            median(own) / found.median});
    return found;
  }
  return std::nullopt;
}

std::string percent(double ratio) {
  return fmt::format("{:.0f}% of the median", 100 * ratio);
}

}  // namespace

OddLinks find_odd_links(std::span<const LinkRate> links, const OddLinkRule& rule) {
  OddLinks found;
  if (links.size() < least_links) return found;
  std::vector<double> rates;
  for (const LinkRate& link : links) rates.push_back(link.rate);
  found.median = median(rates);
  const double bound = bound_of(rates, rule);

  EndsByName ends;
  for (const LinkRate& link : links) {
    ends.of(link.from).sends.add(link.rate, link.rate < bound);
    ends.of(link.to).receives.add(link.rate, link.rate < bound);
  }
  if (auto outcast = find_outcast(links, rule, ends)) return std::move(*outcast);
  for (const Ends& one : ends.all()) {
    if (!one.sends.is_odd() && !one.receives.is_odd()) continue;
    found.endpoints.push_back(odd_endpoint(one, found.median));
  }
  for (const LinkRate& link : links) {
    if (link.rate >= bound || ends.of(link.from).sends.is_odd() ||
        ends.of(link.to).receives.is_odd()) {
      continue;
    }
    found.links.push_back({link.from, link.to, link.rate / found.median});
  }
  return found;
}

std::vector<std::string> describe(const OddLinks& odd) {
  std::vector<std::string> lines;
  for (const OddEndpoint& endpoint : odd.endpoints) {
    lines.push_back(fmt::format("{} {} at {}", endpoint.name,
                                !endpoint.sends     ? "receives"
                                : endpoint.receives ? "sends and receives"
                                                    : "sends",
                                percent(endpoint.ratio)));
  }
  for (const OddLink& link : odd.links) {
    lines.push_back(
        fmt::format("the link from {} to {} runs at {}", link.from, link.to, percent(link.ratio)));
  }
  return lines;
}

}  // namespace assay
