#include "statistics/distributions.h"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace assay {
namespace {

namespace bm = boost::math;
// Results outside the range of double are NaN or infinity, never an exception.
using Policy = bm::policies::policy<bm::policies::domain_error<bm::policies::ignore_error>,
                                    bm::policies::pole_error<bm::policies::ignore_error>,
                                    bm::policies::overflow_error<bm::policies::ignore_error>,
                                    bm::policies::evaluation_error<bm::policies::ignore_error>,
                                    bm::policies::promote_double<false>>;

}  // namespace

double student_t_cdf(double t, double degrees_of_freedom) {
  return bm::cdf(bm::students_t_distribution<double, Policy>(degrees_of_freedom), t);
}

double student_t_quantile(double probability, double degrees_of_freedom) {
  return bm::quantile(bm::students_t_distribution<double, Policy>(degrees_of_freedom), probability);
}

double normal_quantile(double probability) {
  return bm::quantile(bm::normal_distribution<double, Policy>(), probability);
}

double binomial_cdf(std::size_t successes, std::size_t n, double probability) {
  return bm::cdf(bm::binomial_distribution<double, Policy>(static_cast<double>(n), probability),
                 static_cast<double>(successes));
}

double coin_cdf(std::size_t successes, std::size_t n) {
  return binomial_cdf(successes, n, 0.5);
}

double noncentral_t_cdf(double t, double degrees_of_freedom, double noncentrality) {
  return bm::cdf(bm::non_central_t_distribution<double, Policy>(degrees_of_freedom, noncentrality),
                 t);
}

double noncentral_t_quantile(double probability, double degrees_of_freedom, double noncentrality) {
  return bm::quantile(
      bm::non_central_t_distribution<double, Policy>(degrees_of_freedom, noncentrality),
      probability);
}

double share_upper_bound(std::size_t successes, std::size_t n, double confidence) {
  if (successes >= n) return 1;
  const double seen = static_cast<double>(successes);
  return bm::quantile(
      bm::beta_distribution<double, Policy>(seen + 1, static_cast<double>(n) - seen), confidence);
}

}  // namespace assay
