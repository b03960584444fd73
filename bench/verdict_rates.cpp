// How often verdicts are right, in simulated campaigns whose truth is known: the real sampler
// measures their units on the fake device, and the real rules judge them.
//   build/bench/bench_verdict_rates [CAMPAIGNS [fake|drawn [PART-OF-A-SCENARIO'S-NAME]]]
// `drawn` takes a unit's time as drawn and measures nothing, a thousand times faster. Prints a row
// for each world. docs/method.md states the promised rates, docs/results/ keeps the measured ones.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "compute/device/backend.h"
#include "measure/sampling/sampler.h"
#include "statistics/summary.h"
#include "support/simulated_campaign.h"

namespace assay {
namespace {

/// One launch of an empty kernel, which takes the time scripted for the fake device.
class OneLaunch final : public Case {
 public:
  static Result<OneLaunch> create(Device& device) {
    OneLaunch work;
    work.program_ = TRY(device.build({"empty", {}}));
    work.kernel_ = TRY(work.program_->kernel("empty"));
    return work;
  }
  Work work() const override { return {}; }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return Limit::none; }
  Status enqueue(Stream& stream) override { return launch(stream, *kernel_, {}, 0); }
  Result<Verification> verify(Stream&) override { return Verification{true, "", 0, 0, ""}; }

 private:
  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
};

/// Median seconds of a run on a fake device that takes `seconds` per launch, with autocorrelated
/// noise of 1%.
Result<double> measured(Backend& fake, double seconds, std::uint64_t seed) {
  setenv("ASSAY_FAKE",
         fmt::format("launch={:.17g},noise=0.01,rho=0.6,seed={}", seconds, seed).c_str(), 1);
  const auto device = TRY(fake.open(0));
  const auto sampler = TRY(Sampler::create(*device));
  OneLaunch work = TRY(OneLaunch::create(*device));
  SamplingLimits limits;
  limits.settling_seconds = 0;
  const SampleSet set = TRY(sampler->take(work, limits, [] { return false; }));
  std::vector<double> all;
  for (const Sample& sample : set.samples) all.push_back(sample.seconds);
  return summarize(all).median;
}

/// The world `drawn`, with units that are measured.
UnitTime on(Backend& fake, const UnitTime& drawn) {
  return [&fake, drawn](SimulatedArm arm, std::size_t turn, Random& random) {
    const auto seconds = measured(fake, drawn(arm, turn, random), random.next() >> 12);
    if (seconds.ok()) return *seconds;
    fmt::print(stderr, "bench_verdict_rates: {}\n", seconds.error().message);
    std::exit(1);
  };
}

void print_row(const std::string& name, const VerdictRates& rates) {
  fmt::print("{:42} {:5.1f}", name, rates.mean_pairs());
  fmt::print(" {:9.2f}", 100 * rates.different());
  for (const Verdict verdict : {Verdict::equal, Verdict::faster, Verdict::slower, Verdict::shifted,
                                Verdict::inconclusive, Verdict::unstable, Verdict::invalid}) {
    fmt::print(" {:8.2f}", 100 * rates.share(verdict));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

int run(std::size_t campaigns, bool drawn, std::string_view part) {
  std::unique_ptr<Backend> fake;
  for (std::unique_ptr<Backend>& backend : make_backends()) {
    if (backend->name() == "fake") fake = std::move(backend);
  }
  fmt::print("{} campaigns each, units {}; % of campaigns\n", campaigns,
             drawn ? "as drawn" : "measured on the fake device");
  fmt::print("{:42} {:>5} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "world", "pairs",
             "different", "EQUAL", "FASTER", "SLOWER", "SHIFTED", "INCONCL", "UNSTABLE", "INVALID");
  for (const Scenario& scenario : verdict_scenarios()) {
    if (scenario.name.find(part) == std::string::npos) continue;
    print_row(scenario.name,
              simulate_campaigns(drawn ? scenario.time : on(*fake, scenario.time), campaigns, 1));
  }
  return 0;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const std::string_view count = argc > 1 ? argv[1] : "2000";
  std::size_t campaigns = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), campaigns);
  if (error != std::errc() || end != count.data() + count.size() || campaigns == 0) {
    fmt::print(stderr, "bench_verdict_rates: \"{}\" is not a number of campaigns\n", count);
    return 2;
  }
  return assay::run(campaigns, argc > 2 && std::string_view(argv[2]) == "drawn",
                    argc > 3 ? argv[3] : "");
}
