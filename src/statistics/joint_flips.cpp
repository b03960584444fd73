#include "statistics/joint_flips.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/random.h"
#include "statistics/dependence.h"
#include "statistics/distributions.h"

namespace assay {
namespace {

constexpr std::size_t most_flips = 4096;
/// Sums of the same terms in different orders differ by less than this share.
constexpr double rounding_share = 1e-9;

double surprise_of(double t, double freedom, Alternative alternative) {
  const double tails = alternative == Alternative::different ? 2 : 1;
  return -std::log(std::max(tails * student_t_cdf(-t, freedom), 1e-300));
}

/// surprise_of() Student's t with n - 1 degrees of freedom, as a function of the share r^2 = S^2 /
/// (n Q) of the squared sum S in n times the sum of squares Q; t^2 = (n - 1) r^2 / (1 - r^2). It is
/// tabulated, because it is needed millions of times.
class Surprise {
 public:
  Surprise(std::size_t n, Alternative alternative) : alternative_(alternative) {
    const double freedom = static_cast<double>(n - 1);
    for (std::size_t i = 0; i < nodes; ++i) {
      // With 1 - r^2 = exp(-u) the function is nearly straight in u.
      const double share = -std::expm1(-step * static_cast<double>(i));
      table_.push_back(surprise_of(std::sqrt(freedom * share / (1 - share)), freedom, alternative));
    }
  }

  /// `sum` is that of the flipped values, and their sum of squares is `n_squares` / n.
  double operator()(double sum, double n_squares) const {
    if (!is_extreme(sum, n_squares)) return 0;
    const double left = std::max(1 - sum * sum / n_squares, 1e-12);
    const double place = std::min(-std::log(left) / step, static_cast<double>(nodes - 2));
    const auto at = static_cast<std::size_t>(place);
    return table_[at] + (place - static_cast<double>(at)) * (table_[at + 1] - table_[at]);
  }

  /// Computes the surprise for `n` values that each depend on the previous one.
  double of_dependent(double sum, double n_squares, std::size_t n, double dependence) const {
    if (!is_extreme(sum, n_squares)) return 0;
    const EffectiveSample sample = effective_sample(n, dependence);
    const double left = std::max(1 - sum * sum / n_squares, 1e-12);
    // This is the t of n - 1 degrees of freedom with a larger deviation and fewer values.
    const double t = std::sqrt(static_cast<double>(n - 1) * (1 - left) / left) /
                     sample.deviation_factor * std::sqrt(sample.n / static_cast<double>(n));
    return surprise_of(t, sample.n - 1, alternative_);
  }

 private:
  static constexpr std::size_t nodes = 2048;
  static constexpr double step = 28.0 / (nodes - 1);  // to 1 - r^2 of 7e-13

  /// Tests one side; a sum on the other side is no surprise at all.
  bool is_extreme(double sum, double n_squares) const {
    if (n_squares <= 0) return false;
    return alternative_ == Alternative::different ||
           (alternative_ == Alternative::above ? sum > 0 : sum < 0);
  }

  Alternative alternative_;
  std::vector<double> table_;
};

/// A series that takes part, with its values by coin; 0 where it has none.
struct Member {
  std::size_t index = 0;
  std::vector<double> by_coin;
  double n_squares = 0;
  double observed = 0;
  const Surprise* surprise = nullptr;
};

/// Enumerates all 2^coins flips, in an order in which neighbours differ by one coin; or most_flips
/// random ones, the first of which flips nothing.
class FlipSequence {
 public:
  FlipSequence(std::size_t coins, std::uint64_t seed)
      : all_(coins < 64 && (std::uint64_t{1} << coins) <= most_flips),
        count_(all_ ? std::size_t{1} << coins : most_flips),
        signs_(coins, 1),
        random_(seed) {}

  std::size_t count() const { return count_; }
  const std::vector<double>& signs() const { return signs_; }
  void go_on() {
    ++done_;
    if (all_) {
      std::size_t coin = 0;  // Gray's code
      while (coin + 1 < signs_.size() && (done_ >> coin & 1) == 0) ++coin;
      signs_[coin] = -signs_[coin];
      return;
    }
    std::uint64_t bits = 0;
    for (std::size_t coin = 0; coin < signs_.size(); ++coin, bits >>= 1) {
      if (coin % 64 == 0) bits = random_.next();
      signs_[coin] = (bits & 1) == 0 ? 1 : -1;
    }
  }

 private:
  bool all_;
  std::size_t count_, done_ = 0;
  std::vector<double> signs_;
  Random random_;
};

}  // namespace

std::vector<double> joint_flip_test(std::span<const PairedSeries> family,
                                    std::span<const double> dependence, Alternative alternative,
                                    double bound, const FlipRule& rule) {
  std::vector<double> p(family.size(), 1);
  const auto coin_of = [&](std::size_t pair) { return pair / rule.pairs_per_draw; };
  std::map<std::size_t, std::size_t> places;  // positions of coins
  for (const PairedSeries& series : family) {
    for (const std::size_t pair : series.pairs) places.emplace(coin_of(pair), 0);
  }
  std::size_t coins = 0;
  for (auto& [coin, place] : places) place = coins++;

  std::map<std::size_t, Surprise> surprises;  // keyed by the number of values
  std::vector<Member> members;
  for (std::size_t index = 0; index < family.size(); ++index) {
    const PairedSeries& series = family[index];
    const std::size_t n = series.differences.size();
    std::set<std::size_t> own;
    for (const std::size_t pair : series.pairs) own.insert(coin_of(pair));
    if (own.size() < std::max<std::size_t>(rule.least_draws, 2)) continue;
    Member member;
    member.index = index;
    member.by_coin.assign(coins, 0);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double value = series.differences[i] - bound;
      member.by_coin[places[coin_of(series.pairs[i])]] += value;
      member.n_squares += static_cast<double>(n) * value * value;
      sum += value;
    }
    member.surprise = &surprises.try_emplace(n, n, alternative).first->second;
    member.observed = dependence[index] > 0 ? member.surprise->of_dependent(sum, member.n_squares,
                                                                            n, dependence[index])
                                            : (*member.surprise)(sum, member.n_squares);
    members.push_back(std::move(member));
  }
  if (members.empty()) return p;

  // Members are processed from the least surprising on; each is compared with the maximum so far.
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.observed < b.observed; });
  std::vector<std::size_t> as_extreme(members.size(), 0);
  FlipSequence flips(coins, rule.seed);
  for (std::size_t flip = 0; flip < flips.count(); ++flip) {
    double largest = 0;
    for (std::size_t k = 0; k < members.size(); ++k) {
      const Member& member = members[k];
      const double sum = std::inner_product(member.by_coin.begin(), member.by_coin.end(),
                                            flips.signs().begin(), 0.0);
      largest = std::max(largest, (*member.surprise)(sum, member.n_squares));
      if (largest >= member.observed * (1 - rounding_share)) ++as_extreme[k];
    }
    flips.go_on();
  }
  double before = 0;
  for (std::size_t k = members.size(); k-- > 0;) {
    before =
        std::max(before, static_cast<double>(as_extreme[k]) / static_cast<double>(flips.count()));
    p[members[k].index] = before;
  }
  return p;
}

}  // namespace assay
