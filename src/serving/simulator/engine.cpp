#include "serving/simulator/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "serving/simulator/block_hash.h"

namespace assay::simulator {

struct Engine::Sequence {
  EngineRequest request;
  std::uint64_t generated = 0;
  std::uint64_t computed = 0;   // tokens whose keys and values are in the cache
  std::uint64_t scheduled = 0;  // tokens that the current step adds
  std::vector<BlockPool::Block> blocks;
  bool started = false;

  std::uint64_t tokens() const { return request.prompt_tokens + generated; }
  bool decoding() const { return generated > 0 && computed + 1 == tokens(); }
};

Engine::Engine(const EngineSettings& settings)
    : settings_(settings), pool_(settings.blocks), random_(settings.seed) {}
Engine::Engine(Engine&& other) noexcept = default;
Engine::~Engine() = default;

void Engine::submit(EngineRequest request) {
  const std::uint64_t id = request.id;
  auto sequence = std::make_unique<Sequence>();
  sequence->request = std::move(request);
  waiting_.push_back(sequence.get());
  sequences_.emplace(id, std::move(sequence));
}

void Engine::cancel(std::uint64_t id) {
  const auto at = sequences_.find(id);
  if (at == sequences_.end()) return;
  pool_.release(at->second->blocks);
  std::erase(running_, at->second.get());
  std::erase(waiting_, at->second.get());
  sequences_.erase(at);
}

double Engine::cache_usage() const {
  return 1 - static_cast<double>(pool_.free()) / static_cast<double>(pool_.size());
}

Step Engine::step() {
  Step step;
  StepWork work;
  std::uint64_t budget = settings_.max_batched_tokens;
  // A sequence that was just preempted would be admitted and preempted again.
  if (schedule_running(budget, work, step)) admit(budget, work, step);
  step.seconds = step_seconds(settings_.model, settings_.hardware, work);
  if (settings_.jitter > 0) {
    step.seconds *=
        std::exp(settings_.jitter * random_.normal() - settings_.jitter * settings_.jitter / 2);
  }
  advance(step);
  return step;
}

/// Allocates the sequence's blocks for as many tokens as the budget allows. False: too few are
/// free.
bool Engine::schedule(Sequence& sequence, std::uint64_t& budget, StepWork& work) {
  const std::uint64_t tokens = std::min(sequence.tokens() - sequence.computed, budget);
  const std::uint64_t needed = blocks_for(sequence.computed + tokens) - sequence.blocks.size();
  if (needed > pool_.free()) return false;
  pool_.take(needed, sequence.blocks);
  const auto before = static_cast<double>(sequence.computed);
  const auto added = static_cast<double>(tokens);
  work.new_tokens += added;
  work.kv_tokens += before + added;
  work.sequences += sequence.computed + tokens == sequence.tokens();
  if (!sequence.decoding()) work.prefill_pairs += chunk_pairs(added, before);
  sequence.scheduled = tokens;
  budget -= tokens;
  return true;
}

/// True: no sequence was preempted.
bool Engine::schedule_running(std::uint64_t& budget, StepWork& work, Step& step) {
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    while (i < running_.size() && !schedule(*running_[i], budget, work)) preempt_last(step);
  }
  return step.preempted.empty();
}

void Engine::preempt_last(Step& step) {
  Sequence& last = *running_.back();
  running_.pop_back();
  pool_.release(last.blocks);
  last.blocks.clear();
  waiting_.push_front(&last);
  step.preempted.push_back(last.request.id);
  ++counters_.preemptions;
}

void Engine::admit(std::uint64_t& budget, StepWork& work, Step& step) {
  while (!waiting_.empty() && budget > 0 && running_.size() < settings_.max_sequences) {
    Sequence& sequence = *waiting_.front();
    // At least one token must be computed, because the next token comes out of it.
    const std::span<const std::uint64_t> hashes(
        sequence.request.hashes.data(),
        std::min<std::size_t>(sequence.request.hashes.size(),
                              (sequence.tokens() - 1) / block_tokens));
    const std::size_t held = settings_.prefix_cache ? pool_.held(hashes) : 0;
    const std::uint64_t cached = held * block_tokens;
    const std::uint64_t tokens = std::min(sequence.tokens() - cached, budget);
    const std::uint64_t needed = blocks_for(cached + tokens) - held;
    if (needed + pool_.held_and_free(hashes.first(held)) > pool_.free()) return;
    pool_.share(hashes.first(held), sequence.blocks);
    sequence.computed = cached;
    schedule(sequence, budget, work);
    waiting_.pop_front();
    running_.push_back(&sequence);
    if (sequence.started) continue;
    sequence.started = true;
    step.started.push_back(sequence.request.id);
    if (!settings_.prefix_cache) continue;
    counters_.prefix_queries += sequence.request.prompt_tokens;
    counters_.prefix_hits += cached;
  }
}

/// Updates the state to the end of the step.
void Engine::advance(Step& step) {
  for (Sequence* sequence : running_) {
    const std::uint64_t before = sequence->computed / block_tokens;
    sequence->computed += std::exchange(sequence->scheduled, 0);
    const std::uint64_t full =
        std::min<std::uint64_t>(sequence->computed / block_tokens, sequence->request.hashes.size());
    for (std::uint64_t i = before; settings_.prefix_cache && i < full; ++i) {
      pool_.hold(sequence->blocks[i], sequence->request.hashes[i]);
    }
    if (sequence->computed < sequence->tokens()) continue;
    if (sequence->generated == 0) counters_.prompt_tokens += sequence->request.prompt_tokens;
    ++sequence->generated;
    ++counters_.generation_tokens;
    step.tokens.push_back({sequence->request.id, sequence->generated,
                           sequence->generated >= sequence->request.output_tokens});
  }
  const auto ended = [](const Sequence* sequence) {
    return sequence->generated >= sequence->request.output_tokens;
  };
  for (Sequence* sequence : running_) {
    if (ended(sequence)) pool_.release(sequence->blocks);
  }
  std::erase_if(running_, ended);
  for (const EngineToken& token : step.tokens) {
    if (token.last) sequences_.erase(token.id);
  }
}

}  // namespace assay::simulator
