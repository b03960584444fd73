#include "ranks/collective/communicators.h"

#include <fmt/format.h>

#include "ranks/collective/recorded_communicator.h"
#include "ranks/team/agreement.h"
#include "ranks/team/team_wait.h"

namespace assay {

Result<std::unique_ptr<Communicator>> Communicators::create(std::string_view library) {
  auto made = TRY(communicator_kind(library)).create(device_, team_, {});
  TRY(agree(team_, fmt::format("making a communicator of {}", library),
            made.ok() ? Status() : Status(made.error())));
  return recorded_on(device_, std::move(*made));
}

Result<Communicator*> Communicators::get(std::string_view library) {
  auto at = made_.find(library);
  if (at == made_.end()) at = made_.emplace(std::string(library), create(library)).first;
  if (!at->second.ok()) return Error(at->second.error());
  return at->second->get();
}

Result<Communicator*> Communicators::split(std::string_view library, int colour, int key,
                                           const CommunicatorConfig& config) {
  Communicator* const whole = TRY(get(library));
  auto part = whole->split(colour, key, config);
  TRY(agree(team_, fmt::format("splitting the communicator of {}", library),
            part.ok() ? Status() : Status(part.error())));
  if (*part == nullptr) return static_cast<Communicator*>(nullptr);
  return parts_.emplace_back(std::move(*part)).get();
}

Result<Communicator*> Communicators::first(std::string_view library, int ranks) {
  if (ranks == team_.size()) return get(library);
  const std::pair key(std::string(library), ranks);
  if (const auto known = first_.find(key); known != first_.end()) return known->second;
  const int colour = team_.rank() < ranks ? 0 : -1;
  return first_[key] = TRY(split(library, colour, team_.rank()));
}

void Communicators::abort() {
  for (const auto& part : parts_) part->abort();
  for (auto& [name, made] : made_) {
    if (made.ok()) (*made)->abort();
  }
}

Status start_together(Communicator& communicator, const Buffer& two_floats, Stream& stream) {
  if (!communicator.queues_on_stream()) TRY(stream.synchronize());
  CollectiveCall barrier;
  barrier.send = two_floats.as<float>();
  barrier.receive = two_floats.as<float>() + 1;
  barrier.count = 1;
  return communicator.run(barrier, stream);
}

Status wait_for_ranks(Communicator& communicator, Stream& stream, Event& idle, Team& team) {
  Status waited = wait_idle(stream, idle, team);
  if (waited.ok()) team.end_wait();
  if (!waited.ok() && !team.check_alive().ok()) {
    communicator.abort();
    (void)stream.synchronize();  // `waited` has the first error
  }
  return waited;
}

std::string_view best_communicator_kind(const Device& device, const Team& team) {
  std::string_view best;
  int best_score = 0;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    const int score = kind.score(device, team);
    if (score > best_score) {
      best = kind.name;
      best_score = score;
    }
  }
  return best;
}

}  // namespace assay
