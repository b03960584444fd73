#include "serving/simulator/simulated_instance.h"

#include "serving/server/block_hash.h"
#include "serving/simulator/simulated_reply.h"

namespace assay::simulator {
namespace {

const SimulatedText simulated_text;

constexpr std::uint64_t natural_tokens = 128;  // where a reply without a limit ends

std::uint64_t tokens_with(Fault fault, std::uint64_t tokens) {
  if (fault == Fault::empty) return 0;
  return fault == Fault::cut ? std::max<std::uint64_t>(1, tokens / 2) : tokens;
}

}  // namespace

SimulatedInstance::SimulatedInstance(Loop& loop, const ServerSettings& settings,
                                     std::uint64_t index)
    : Instance(loop, settings.model, simulated_text),
      settings_(settings),
      seed_(Random(settings.seed ^ (index << 48)).next()) {
  if (settings.fixed) return;
  EngineSettings engine = settings.engine;
  engine.seed = seed_;
  driver_ = std::make_shared<EngineDriver>(loop, engine);
}

std::uint64_t SimulatedInstance::usual_tokens(const GenerationRequest&) const {
  return natural_tokens;
}

bool SimulatedInstance::reset_prefix_cache() {
  return !driver_ || driver_->scheduler().reset_prefix_cache();
}

void SimulatedInstance::generate(const std::shared_ptr<Connection>& connection,
                                 AcceptedRequest request) {
  const auto& prompts = request.asked.prompts;
  SimulatedReplyPlan simulated;
  simulated.request = requests_++;
  simulated.fault = settings_.faults.of(simulated.request, seed_);
  if (only_streamed(simulated.fault) && !request.stream) simulated.fault = Fault::none;
  ReplyFacts facts = facts_of(request, simulated.request);
  simulated.prompt_tokens = facts.prompt_tokens;
  if (simulated.fault == Fault::nousage) facts.usage = false;
  ReplyPlan plan;
  plan.format = make_reply_format(request.dialect, std::move(facts));
  if (simulated.fault == Fault::nodone && !plan.format->has_end_mark()) {
    simulated.fault = Fault::none;
  }
  const Fault fault = simulated.fault;
  ++faults_[static_cast<std::size_t>(fault)];
  if (fault == Fault::http500) return refuse(*connection, request.keep_alive, 500, "a fault");
  if (fault == Fault::http429) {
    return refuse(*connection, request.keep_alive, 429, "a fault", "retry-after: 1\r\n");
  }
  const bool natural_end = fault == Fault::cut || fault == Fault::empty ||
                           (!request.asked.max_tokens && request.dialect != Dialect::completions);
  plan.choices = prompts.size();
  plan.stream = request.stream;
  plan.keep_alive = request.keep_alive && fault != Fault::slowclose;
  plan.finish = natural_end ? server::Finish::end_token : server::Finish::length;
  plan.received = request.received;
  const std::uint64_t tokens = tokens_with(fault, request.tokens);
  simulated.tokens = tokens;
  const auto reply = std::make_shared<SimulatedReply>(loop(), connection, metrics_, driver_.get(),
                                                      std::move(plan), simulated);
  connection->tell(reply);
  reply->begin();
  if (tokens == 0) return;
  if (!driver_) {
    start_fixed(loop(), *settings_.fixed, Random(seed_ ^ simulated.request).next(),
                request.received, prompts.size(), tokens, reply);
    return;
  }
  for (std::size_t choice = 0; choice < prompts.size(); ++choice) {
    const auto& prompt = prompts[choice];
    reply->add_source_id(
        driver_->submit({0, prompt.size(), tokens, block_hashes(prompt)}, choice, reply));
  }
}

std::string SimulatedInstance::metrics_text() {
  if (driver_) {
    const Scheduler& scheduler = driver_->scheduler();
    metrics_->running = scheduler.running();
    metrics_->waiting = scheduler.waiting();
    metrics_->blocks = scheduler.blocks();
    metrics_->free_blocks = scheduler.free_blocks();
    metrics_->scheduler = scheduler.counters();
  }
  MetricsPage page(model().name);
  page.add(*metrics_, "assay_sim_write_lag_seconds");
  constexpr std::string_view faults = "assay_sim_faults_total";
  page.head("counter", faults, "Requests that were given a fault.");
  for (std::size_t fault = 1; fault < fault_count; ++fault) {
    page.labelled(faults, "fault", name_of(static_cast<Fault>(fault)),
                  static_cast<double>(faults_[fault]));
  }
  return std::move(page).text();
}

}  // namespace assay::simulator
