// Lists of problems to tune, with their numbers of calls, in order of importance. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay {

/// A problem and how often it was called.
template <typename Problem>
struct Counted {
  Problem problem;
  std::uint64_t count = 0;
};

/// A list of counted problems, and what had to be left out of it.
template <typename Problem>
struct CountedList {
  static constexpr std::size_t most_left_out = 20;

  std::vector<Counted<Problem>> problems;  ///< those that can be measured
  std::vector<std::string> left_out;       ///< the first problems that cannot be measured, with
                                           ///< reasons; at most most_left_out
  std::size_t left_out_count = 0;          ///< number of all problems left out

  void add(const Problem& problem, std::uint64_t count) { problems.push_back({problem, count}); }
  void leave_out(std::string what) {
    ++left_out_count;
    if (left_out.size() < most_left_out) left_out.push_back(std::move(what));
  }
  void append(const CountedList& more) {
    problems.insert(problems.end(), more.problems.begin(), more.problems.end());
    for (const std::string& what : more.left_out) {
      if (left_out.size() < most_left_out) left_out.push_back(what);
    }
    left_out_count += more.left_out_count;
  }
};

/// Merges equal problems, summing their calls, and sorts them by total cost, highest first.
/// `name_of` returns a text that only equal problems share, `cost_of` the cost of one call in any
/// unit that all problems share.
template <typename Problem, typename NameOf, typename CostOf>
CountedList<Problem> ordered(const CountedList<Problem>& list, const NameOf& name_of,
                             const CostOf& cost_of) {
  CountedList<Problem> result;
  result.left_out = list.left_out;
  result.left_out_count = list.left_out_count;
  std::unordered_map<std::string, std::size_t> places;
  for (const Counted<Problem>& one : list.problems) {
    const auto [at, is_new] = places.emplace(name_of(one.problem), result.problems.size());
    if (is_new) result.problems.push_back({one.problem, 0});
    std::uint64_t& count = result.problems[at->second].count;
    count += std::min(one.count, std::numeric_limits<std::uint64_t>::max() - count);
  }
  struct Priced {
    Counted<Problem> problem;
    double cost;
  };
  std::vector<Priced> priced;
  for (const Counted<Problem>& one : result.problems) {
    priced.push_back({one, cost_of(one.problem) * static_cast<double>(one.count)});
  }
  std::stable_sort(priced.begin(), priced.end(),
                   [](const Priced& a, const Priced& b) { return a.cost > b.cost; });
  for (std::size_t i = 0; i < priced.size(); ++i) result.problems[i] = priced[i].problem;
  return result;
}

/// Returns every `parts`-th problem, beginning with number `part` (from 0), so that all devices get
/// similar work.
template <typename Problem>
std::vector<Counted<Problem>> part_of(const std::vector<Counted<Problem>>& problems,
                                      std::size_t part, std::size_t parts) {
  std::vector<Counted<Problem>> mine;
  for (std::size_t i = part; i < problems.size(); i += parts) mine.push_back(problems[i]);
  return mine;
}

}  // namespace assay
