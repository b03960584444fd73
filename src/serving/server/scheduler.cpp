#include "serving/server/scheduler.h"

#include <algorithm>
#include <utility>

#include "serving/server/block_hash.h"

namespace assay::server {

struct Scheduler::Sequence {
  SequenceRequest request;
  std::uint64_t generated = 0;
  std::uint64_t computed = 0;   // tokens whose keys and values are in the cache
  std::uint64_t scheduled = 0;  // tokens that the current step adds
  std::vector<BlockPool::Block> blocks;
  std::uint32_t slot = 0;
  bool started = false, ended = false;

  std::uint64_t tokens() const { return request.prompt_tokens + generated; }
  bool decoding() const { return generated > 0 && computed + 1 == tokens(); }
  bool yields() const { return computed + scheduled == tokens(); }
};

Scheduler::Scheduler(const SchedulerSettings& settings)
    : settings_(settings), pool_(settings.blocks) {
  for (std::uint32_t slot = settings.max_sequences; slot > 0; --slot)
    free_slots_.push_back(slot - 1);
}
Scheduler::Scheduler(Scheduler&& other) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::submit(SequenceRequest request) {
  const std::uint64_t id = request.id;
  auto sequence = std::make_unique<Sequence>();
  sequence->request = std::move(request);
  waiting_.push_back(sequence.get());
  sequences_.emplace(id, std::move(sequence));
}

void Scheduler::cancel(std::uint64_t id) {
  const auto at = sequences_.find(id);
  if (at == sequences_.end()) return;
  if (std::erase(running_, at->second.get()) > 0) leave(*at->second);
  std::erase(waiting_, at->second.get());
  sequences_.erase(at);
}

/// Gives back what a running sequence holds.
void Scheduler::leave(Sequence& sequence) {
  pool_.release(sequence.blocks);
  sequence.blocks.clear();
  free_slots_.push_back(sequence.slot);
}

const ScheduledStep& Scheduler::schedule() {
  step_.started.clear();
  step_.preempted.clear();
  std::uint64_t budget = settings_.max_batched_tokens;
  // A sequence that was just preempted would be admitted and preempted again.
  if (schedule_running(budget)) admit(budget);
  list_parts();
  return step_;
}

void Scheduler::list_parts() {
  step_.parts.clear();
  for (const Sequence* sequence : running_) {
    if (sequence->scheduled == 0) continue;
    step_.parts.push_back({sequence->request.id, sequence->slot, sequence->computed,
                           sequence->scheduled, sequence->decoding(), sequence->yields(),
                           sequence->blocks});
  }
}

/// Allocates the sequence's blocks for as many tokens as the budget allows. False: too few are
/// free.
bool Scheduler::schedule(Sequence& sequence, std::uint64_t& budget) {
  const std::uint64_t tokens = std::min(sequence.tokens() - sequence.computed, budget);
  const std::uint64_t needed = blocks_for(sequence.computed + tokens) - sequence.blocks.size();
  if (needed > pool_.free()) return false;
  pool_.take(needed, sequence.blocks);
  sequence.scheduled = tokens;
  budget -= tokens;
  return true;
}

/// True: no sequence was preempted.
bool Scheduler::schedule_running(std::uint64_t& budget) {
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    while (i < running_.size() && !schedule(*running_[i], budget)) preempt_last();
  }
  return step_.preempted.empty();
}

void Scheduler::preempt_last() {
  Sequence& last = *running_.back();
  running_.pop_back();
  leave(last);
  waiting_.push_front(&last);
  step_.preempted.push_back(last.request.id);
  ++counters_.preemptions;
}

void Scheduler::admit(std::uint64_t& budget) {
  // What a prompt would find if it were the only one of its step.
  const std::uint64_t room = settings_.max_batched_tokens -
                             static_cast<std::uint64_t>(std::ranges::count_if(
                                 running_, [](const Sequence* s) { return s->decoding(); }));
  while (!waiting_.empty() && budget > 0 && running_.size() < settings_.max_sequences) {
    Sequence& sequence = *waiting_.front();
    // At least one token must be computed, because the next token comes out of it.
    const std::span<const std::uint64_t> hashes(
        sequence.request.hashes.data(),
        std::min<std::size_t>(sequence.request.hashes.size(),
                              (sequence.tokens() - 1) / block_tokens));
    const std::size_t held = settings_.prefix_cache ? pool_.held(hashes) : 0;
    const std::uint64_t cached = held * block_tokens;
    const std::uint64_t missing = sequence.tokens() - cached, tokens = std::min(missing, budget);
    if (settings_.whole_prompts && tokens < missing && missing <= room) return;
    const std::uint64_t needed = blocks_for(cached + tokens) - held;
    if (needed + pool_.held_and_free(hashes.first(held)) > pool_.free()) return;
    sequence.blocks.reserve(
        blocks_for(sequence.request.prompt_tokens + sequence.request.output_tokens));
    pool_.share(hashes.first(held), sequence.blocks);
    sequence.computed = cached;
    sequence.slot = free_slots_.back();
    free_slots_.pop_back();
    schedule(sequence, budget);
    waiting_.pop_front();
    running_.push_back(&sequence);
    if (sequence.started) continue;
    sequence.started = true;
    step_.started.push_back(sequence.request.id);
    if (!settings_.prefix_cache) continue;
    counters_.prefix_queries += sequence.request.prompt_tokens;
    counters_.prefix_hits += cached;
  }
}

/// What the step has computed of a sequence is in the cache now.
void Scheduler::advance(Sequence& sequence) {
  const std::uint64_t before = sequence.computed / block_tokens;
  sequence.computed += std::exchange(sequence.scheduled, 0);
  const std::uint64_t full =
      std::min<std::uint64_t>(sequence.computed / block_tokens, sequence.request.hashes.size());
  for (std::uint64_t i = before; settings_.prefix_cache && i < full; ++i) {
    pool_.hold(sequence.blocks[i], sequence.request.hashes[i]);
  }
}

const std::vector<YieldedToken>& Scheduler::finish(std::span<const std::uint8_t> ends) {
  tokens_.clear();
  for (Sequence* sequence : running_) {
    const bool yields = sequence->scheduled > 0 && sequence->yields();
    advance(*sequence);
    if (!yields) continue;
    if (sequence->generated == 0) counters_.prompt_tokens += sequence->request.prompt_tokens;
    ++sequence->generated;
    ++counters_.generation_tokens;
    sequence->ended = sequence->generated >= sequence->request.output_tokens ||
                      (!ends.empty() && ends[tokens_.size()] != 0);
    tokens_.push_back({sequence->request.id, sequence->generated, sequence->ended});
  }
  for (Sequence* sequence : running_) {
    if (sequence->ended) leave(*sequence);
  }
  std::erase_if(running_, [](const Sequence* sequence) { return sequence->ended; });
  for (const YieldedToken& token : tokens_) {
    if (token.last) sequences_.erase(token.id);
  }
  return tokens_;
}

}  // namespace assay::server
