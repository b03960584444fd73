// How often the rule for many cells is right, in simulated campaigns whose truth is known: the real
// order of units and the real rule.
//   build/bench/bench_family_rates [CAMPAIGNS [TABLE]]
// TABLE: together, equal, skewed, sides or all. Rows of 1,000 cells are of a tenth as many
// campaigns. All columns but `pairs` are shares of campaigns in percent. docs/method.md quotes
// them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "support/simulated_family.h"

namespace assay {
namespace {

const double margin = std::log(1.02), much = std::log(1.2);

std::size_t campaigns_of(std::size_t cells, std::size_t campaigns) {
  return std::max<std::size_t>(1, cells < 1000 ? campaigns : campaigns / 10);
}

/// The share in percent of campaigns in `world` of which `is` holds.
template <typename Is>
double share(const FamilyWorld& world, std::size_t campaigns, std::uint64_t seed, Is is) {
  Random random(seed);
  std::size_t found = 0;
  for (std::size_t i = 0; i < campaigns; ++i) found += is(simulate_family(world, random)) ? 1 : 0;
  return 100.0 * static_cast<double>(found) / static_cast<double>(campaigns);
}

bool any_different(const FamilyOutcome& outcome) {
  return is_different(outcome.whole.verdict) ||
         std::ranges::any_of(outcome.cells, [](const CellRuling& cell) {
           return is_different(cell.ruling.verdict);
         });
}
bool any_slower(const FamilyOutcome& outcome) {
  return outcome.whole.verdict == Verdict::slower ||
         std::ranges::any_of(outcome.cells, [](const CellRuling& cell) {
           return cell.ruling.verdict == Verdict::slower;
         });
}
bool all_slower(const FamilyOutcome& outcome) {
  return outcome.whole.verdict == Verdict::slower &&
         std::ranges::all_of(outcome.cells, [](const CellRuling& cell) {
           return cell.ruling.verdict == Verdict::slower;
         });
}
bool first_different(const FamilyOutcome& outcome) {
  return is_different(outcome.cells.front().ruling.verdict);
}
bool cannot_tell(const FamilyOutcome& outcome) {
  return std::ranges::any_of(
      outcome.cells, [](const CellRuling& cell) { return cell.ruling.code == "sides_drift"; });
}

constexpr std::pair<Noise, const char*> noises[] = {{Noise::normal, "normal"}, {Noise::t3, "t3"}};

void print_together(std::size_t campaigns) {
  fmt::print(
      "\n10 pairs, units with noise of 1%. wrong: all cells are equal, with noise of 10%, so that "
      "none\n"
      "is proven equal first, and one is called different. all: every cell is 20% slower, and all "
      "are called SLOWER. one: one cell "
      "is\n"
      "20% slower, and is called so. 2 sd: one cell is slower by two deviations of a difference,\n"
      "and is called different. margin: every cell is 2% slower, and one is called SLOWER.\n");
  fmt::print("{:>5} {:8} {:>11} {:>6} {:>6} {:>6} {:>6} {:>6}\n", "cells", "noise", "correlation",
             "wrong", "all", "one", "2 sd", "margin");
  for (const std::size_t cells : {1, 25, 100, 1000}) {
    for (const double correlation : {0.0, 0.8}) {
      for (const auto& [noise, drift, name] :
           {std::tuple{Noise::normal, 0.0, "normal"}, std::tuple{Noise::t3, 0.0, "t3"},
            std::tuple{Noise::normal, 0.9, "AR(0.9)"}}) {
        FamilyWorld world{.cells = cells,
                          .paired_noise = 0.01 * std::sqrt(2.0),
                          .noise = noise,
                          .correlation = correlation,
                          .drift = drift,
                          .slower = {}};
        const std::size_t some = campaigns_of(cells, campaigns);
        world.paired_noise *= 10;
        const double wrong = share(world, some, 1, any_different);
        world.paired_noise /= 10;
        world.slower.assign(cells, much);
        const double all = share(world, some, 2, all_slower);
        world.slower = {much};
        const double one = share(world, some, 3, any_slower);
        world.slower = {2 * world.paired_noise};
        const double small = share(world, some, 4, first_different);
        world.slower.assign(cells, margin);
        const double at_margin = share(world, some, 5, any_slower);
        fmt::print("{:5} {:8} {:11.1f} {:6.1f} {:6.1f} {:6.1f} {:6.1f} {:6.1f}\n", cells, name,
                   correlation, wrong, all, one, small, at_margin);
        std::fflush(stdout);
      }
    }
  }
}

void print_equal(std::size_t campaigns) {
  fmt::print(
      "\nEqual cells, 10 to 40 pairs until all are precise, differences with a deviation of 1%.\n");
  fmt::print("{:>5} {:8} {:>11} {:>6} {:>6} {:>8} {:>8} {:>8} {:>10}\n", "cells", "noise",
             "correlation", "pairs", "EQUAL", "UNSTABLE", "INVALID", "INCONCL.", "different");
  for (const std::size_t cells : {1, 25, 100, 1000}) {
    for (const double correlation : {0.0, 0.8}) {
      for (const auto& [noise, name] : noises) {
        const std::size_t some = campaigns_of(cells, campaigns);
        Random random(6);
        std::array<std::size_t, verdict_count> counts = {};
        std::size_t pairs = 0;
        for (std::size_t i = 0; i < some; ++i) {
          const FamilyOutcome outcome = simulate_family({.cells = cells,
                                                         .noise = noise,
                                                         .correlation = correlation,
                                                         .slower = {},
                                                         .most_pairs = 40},
                                                        random);
          ++counts[static_cast<std::size_t>(outcome.whole.verdict)];
          pairs += outcome.pairs;
        }
        const auto percent = [&](std::initializer_list<Verdict> verdicts) {
          std::size_t sum = 0;
          for (const Verdict verdict : verdicts) sum += counts[static_cast<std::size_t>(verdict)];
          return 100.0 * static_cast<double>(sum) / static_cast<double>(some);
        };
        fmt::print("{:5} {:8} {:11.1f} {:6.1f} {:6.1f} {:8.1f} {:8.1f} {:8.1f} {:10.1f}\n", cells,
                   name, correlation, static_cast<double>(pairs) / static_cast<double>(some),
                   percent({Verdict::equal}), percent({Verdict::unstable}),
                   percent({Verdict::invalid}), percent({Verdict::inconclusive}),
                   percent({Verdict::slower, Verdict::faster, Verdict::shifted}));
        std::fflush(stdout);
      }
    }
  }
}

void print_skewed(std::size_t campaigns) {
  fmt::print(
      "\nNot protected: B has a slow tail of 10% and A no noise; their means are equal, 10 "
      "pairs.\n");
  fmt::print("{:>5} {:>6}\n", "cells", "wrong");
  for (const std::size_t cells : {1, 25, 100}) {
    fmt::print("{:5} {:6.1f}\n", cells,
               share({.cells = cells,
                      .paired_noise = 0.1,
                      .noise = Noise::exponential,
                      .only_b_is_noisy = true,
                      .slower = {}},
                     campaigns, 7, any_different));
    std::fflush(stdout);
  }
}

void print_sides(std::size_t campaigns) {
  fmt::print(
      "\nSides that drift by themselves, each with the autocorrelation from pair to pair. wrong: "
      "equal\nsides, whose differences have a deviation of 10%, are called different. cannot tell: "
      "a cell of\ntheirs says so. 20%: with 1%, B is 20% slower in every cell, and all are called "
      "SLOWER.\n");
  fmt::print("{:>5} {:>6} {:>15} {:>6} {:>12} {:>6}\n", "cells", "pairs", "autocorrelation",
             "wrong", "cannot tell", "20%");
  for (const std::size_t cells : {1, 25, 100}) {
    for (const std::size_t pairs : {10, 20, 40}) {
      for (const double rho : {0.3, 0.5, 0.7, 0.9, 0.97}) {
        FamilyWorld world{.cells = cells,
                          .paired_noise = 0.1,
                          .own_drift = rho,
                          .slower = {},
                          .least_pairs = pairs,
                          .most_pairs = pairs};
        const double wrong = share(world, campaigns, 8, any_different);
        const double open = share(world, campaigns, 8, cannot_tell);
        world.paired_noise = 0.01;
        world.slower.assign(cells, much);
        fmt::print("{:5} {:6} {:15.2f} {:6.1f} {:12.1f} {:6.1f}\n", cells, pairs, rho, wrong, open,
                   share(world, campaigns, 9, all_slower));
        std::fflush(stdout);
      }
    }
  }
}

int run(std::size_t campaigns, std::string_view table) {
  fmt::print("{} campaigns each ({} of 1000 cells)\n", campaigns, campaigns_of(1000, campaigns));
  const bool all = table == "all";
  if (all || table == "together") print_together(campaigns);
  if (all || table == "equal") print_equal(campaigns);
  if (all || table == "skewed") print_skewed(campaigns);
  if (all || table == "sides") print_sides(campaigns);
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const std::string_view count = argc > 1 ? argv[1] : "1000";
  std::size_t campaigns = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), campaigns);
  if (error != std::errc() || end != count.data() + count.size() || campaigns == 0) {
    fmt::print(stderr, "bench_family_rates: \"{}\" is not a number of campaigns\n", count);
    return 2;
  }
  return assay::run(campaigns, argc > 2 ? argv[2] : "all");
}
