#include "advise/selftest/contracts/communicator_contract.h"

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "ranks/team/agreement.h"

namespace assay::selftest {
namespace {

/// One rank's vector on its device.
class RankVector {
 public:
  static constexpr std::size_t count = 100003;  // floats: more than one piece of any library

  static Result<RankVector> create(Device& device, Stream& stream) {
    return RankVector(stream, TRY(device.allocate(count * sizeof(float), MemoryKind::device)));
  }
  float* data() const { return buffer_.as<float>(); }
  std::size_t bytes() const { return buffer_.bytes(); }

  Status fill(int rank) const {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = element(rank, i);
    TRY(stream_->copy(buffer_.data(), values.data(), bytes()));
    return stream_->synchronize();
  }
  /// Expects the sum of the contents of `ranks`, times `factor`.
  Status expect_sum(const std::vector<int>& ranks, float factor, std::string_view where) const {
    const auto values = TRY(read_back<float>(*stream_, buffer_.data(), count));
    for (std::size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (const int rank : ranks) sum += element(rank, i);
      if (values[i] == factor * sum) continue;
      return wrong(
          fmt::format("{}: element {} is {}, expected {}", where, i, values[i], factor * sum));
    }
    return {};
  }
  /// Returns an in-place all-reduce (sum) over the ranks of a communicator.
  CollectiveCall sum_up() const {
    CollectiveCall call;
    call.send = call.receive = data();
    call.count = count;
    return call;
  }

 private:
  RankVector(Stream& stream, Buffer buffer) : stream_(&stream), buffer_(std::move(buffer)) {}
  /// Elements are small whole numbers, so sums are exact in any order.
  static float element(int rank, std::size_t i) {
    return static_cast<float>(rank + 1) + static_cast<float>(i % 17);
  }

  Stream* stream_;
  Buffer buffer_;
};

/// One rank of the checks.
class CommunicatorContract {
 public:
  static Result<CommunicatorContract> create(const CommunicatorKind& kind, Device& device,
                                             Team& team, Stream& stream,
                                             const CommunicatorAbilities& abilities) {
    return CommunicatorContract(
        kind, device, team, stream, abilities, TRY(RankVector::create(device, stream)),
        TRY(RankVector::create(device, stream)), TRY(RankVector::create(device, stream)));
  }

  /// Runs a check on all ranks, which end it together: with the first error of any, or with none.
  Status together(std::string_view what, Status (CommunicatorContract::*check)()) {
    Status mine = (this->*check)();
    if (!wrong_.ok()) mine = std::exchange(wrong_, {});
    const auto all = team_->exchange(what, to_text(mine));
    if (!all.ok()) return mine.ok() ? all.error() : mine.error();
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      const Status its = status_from_text((*all)[rank]);
      if (its.ok()) continue;
      return Error{its.error().kind,
                   fmt::format("rank {}, {}: {}", rank, what, its.error().message)};
    }
    return {};
  }

  /// Uses two communicators of the whole team and one split from each in turn, made and destroyed
  /// in any order.
  Status several_at_once() {
    auto first = TRY(make({}));
    auto second = TRY(make({1, 4}));
    note(expect_equal("rank()", first->rank(), rank()));
    note(expect_equal("size()", first->size(), team_->size()));
    const auto third = TRY(first->split(0, -rank(), {2, 2}));
    for (int round = 0; round < 3; ++round) {
      TRY(sum(*first, everyone(), "the first of several"));
      TRY(sum(*second, everyone(), "the second of several"));
      TRY(sum(*third, everyone(), "one split from the first"));
    }
    first.reset();
    TRY(team_->exchange("the first has ended", ""));
    TRY(sum(*third, everyone(), "what outlives its origin"));
    const auto fourth = TRY(second->split(0, 0, {}));
    return sum(*fourth, everyone(), "one split from the second");
  }

  /// Splits ranks by their parity, each half in reverse order; then a half once more; then all,
  /// with a rank that is in no part.
  Status splits() {
    const auto whole = TRY(make({}));
    std::vector<int> ours;
    for (int other = team_->size() - 1; other >= 0; --other) {
      if (other % 2 == rank() % 2) ours.push_back(other);
    }
    const auto part = TRY(whole->split(rank() % 2, -rank(), {}));
    TRY(expect(part != nullptr, "a rank with a colour has no part"));
    TRY(expect_equal("the size of a half", part->size(), static_cast<int>(ours.size())));
    note(expect_equal("the rank in a half", ours.at(static_cast<std::size_t>(part->rank())),
                      rank()));
    note(expect_equal("the library of a half", part->library(), whole->library()));
    TRY(sum(*part, ours, "a half"));
    TRY(gather(*part, ours));

    const auto again = TRY(part->split(0, -part->rank(), {}));
    note(expect_equal("the rank in a part of a half", again->rank(),
                      part->size() - 1 - part->rank()));
    TRY(sum(*again, ours, "a part of a half"));

    const auto without_0 = TRY(whole->split(rank() == 0 ? -1 : 5, 0, {}));
    TRY(expect((without_0 == nullptr) == (rank() == 0), "the rank without a colour has a part"));
    if (rank() > 0) {
      std::vector<int> others = everyone();
      others.erase(others.begin());
      TRY(sum(*without_0, others, "all but rank 0"));
    }
    return sum(*whole, everyone(), "the whole after its splits");
  }

  Status registration() {
    const auto whole = TRY(make({}));
    {
      TRY(vector_.fill(rank()));
      const auto registered = TRY(whole->register_memory(vector_.data(), vector_.bytes()));
      TRY(whole->run(vector_.sum_up(), *stream_));
      note(vector_.expect_sum(everyone(), 1, "registered memory"));
    }
    TRY(vector_.fill(rank()));
    TRY(whole->run(vector_.sum_up(), *stream_));
    return vector_.expect_sum(everyone(), 1, "memory that was registered");
  }

  /// Queues a copy, two sums and another copy without waiting in between; all must run in the
  /// stream's order.
  Status order_on_the_stream() {
    if (!abilities_.queues) return {};
    const auto whole = TRY(make({}));
    TRY(source_.fill(rank()));
    for (int round = 0; round < 5; ++round) {
      TRY(stream_->fill(vector_.data(), 0, vector_.bytes()));
      TRY(stream_->copy(vector_.data(), source_.data(), vector_.bytes()));
      for (int time = 0; time < 2; ++time) TRY(whole->enqueue(vector_.sum_up(), *stream_));
      TRY(stream_->copy(result_.data(), vector_.data(), vector_.bytes()));
      TRY(stream_->fill(vector_.data(), 0, vector_.bytes()));
    }
    note(result_.expect_sum(everyone(), static_cast<float>(team_->size()), "queued operations"));
    TRY(ring(*whole));
    return whole->status();
  }

  /// A captured operation does nothing until its graph is launched, and then each time.
  Status capture() {
    if (!abilities_.captures) return {};
    const auto whole = TRY(make({}));
    TRY(source_.fill(rank()));
    // Libraries connect the ranks on first use, which must not happen within a capture.
    TRY(vector_.fill(rank()));
    TRY(whole->enqueue(vector_.sum_up(), *stream_));
    TRY(vector_.fill(rank()));
    const auto graph = TRY(captured(*stream_, [&]() -> Status {
      TRY(stream_->copy(vector_.data(), source_.data(), vector_.bytes()));
      TRY(whole->enqueue(vector_.sum_up(), *stream_));
      return whole->enqueue(vector_.sum_up(), *stream_);
    }));
    TRY(stream_->synchronize());
    note(vector_.expect_sum({rank()}, 1, "captured work before a launch"));
    for (int launch = 0; launch < 3; ++launch) {
      TRY(stream_->launch(*graph));
      note(vector_.expect_sum(everyone(), static_cast<float>(team_->size()), "a launched graph"));
    }
    return whole->status();
  }

  Status bad_bounds() {
    for (const CommunicatorConfig& config : {CommunicatorConfig{4, 2}, {-1, 0}, {0, -1}}) {
      note(expect_refused("a communicator with contradictory bounds",
                          kind_->create(*device_, *team_, config), ErrorKind::usage, ""));
    }
    return {};
  }

 private:
  CommunicatorContract(const CommunicatorKind& kind, Device& device, Team& team, Stream& stream,
                       const CommunicatorAbilities& abilities, RankVector source, RankVector vector,
                       RankVector result)
      : kind_(&kind),
        device_(&device),
        team_(&team),
        stream_(&stream),
        abilities_(abilities),
        source_(std::move(source)),
        vector_(std::move(vector)),
        result_(std::move(result)) {}

  int rank() const { return team_->rank(); }
  std::vector<int> everyone() const {
    std::vector<int> ranks(static_cast<std::size_t>(team_->size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  /// Keeps what is wrong, if it is the first, while this rank continues.
  void note(const Status& held) {
    if (wrong_.ok()) wrong_ = held;
  }
  Result<std::unique_ptr<Communicator>> make(const CommunicatorConfig& config) const {
    return kind_->create(*device_, *team_, config);
  }

  Status sum(Communicator& communicator, const std::vector<int>& ranks, std::string_view where) {
    TRY(vector_.fill(rank()));
    TRY(communicator.run(vector_.sum_up(), *stream_));
    TRY(stream_->synchronize());
    TRY(communicator.status());
    note(vector_.expect_sum(ranks, 1, where));
    return {};
  }

  /// Expects blocks in the order of the part's ranks.
  Status gather(Communicator& part, const std::vector<int>& ours) {
    const std::vector<float> mine(ours.size(), static_cast<float>(rank()));
    TRY(stream_->copy(vector_.data(), mine.data(), mine.size() * sizeof(float)));
    TRY(stream_->synchronize());
    CollectiveCall call;
    call.operation = CollectiveOperation::all_gather;
    call.receive = vector_.data();
    call.send = vector_.data() + part.rank();
    call.count = 1;
    TRY(part.run(call, *stream_));
    note(expect_equal("ranks gathered by a half",
                      TRY(read_back<float>(*stream_, vector_.data(), ours.size())),
                      std::vector<float>(ours.begin(), ours.end())));
    return {};
  }

  /// Queues messages to the next rank.
  Status ring(Communicator& whole) {
    const int ranks = team_->size(), before = (rank() + ranks - 1) % ranks;
    if (ranks == 1 || !abilities_.messages) return {};  // some libraries send none to oneself
    TRY(vector_.fill(rank()));
    const Message out = {(rank() + 1) % ranks, vector_.data(), vector_.bytes()};
    const Message in = {before, result_.data(), result_.bytes()};
    TRY(stream_->fill(result_.data(), 0, result_.bytes()));
    TRY(whole.enqueue({&out, 1}, {&in, 1}, *stream_));
    TRY(stream_->fill(vector_.data(), 0, vector_.bytes()));
    note(result_.expect_sum({before}, 1, "queued messages"));
    return {};
  }

  const CommunicatorKind* kind_;
  Device* device_;
  Team* team_;
  Stream* stream_;
  CommunicatorAbilities abilities_;
  RankVector source_, vector_, result_;
  Status wrong_;
};

}  // namespace

Status check_communicators(const CommunicatorKind& kind, Device& device, Team& team, Stream& stream,
                           const CommunicatorAbilities& abilities) {
  auto contract = TRY(CommunicatorContract::create(kind, device, team, stream, abilities));
  using Contract = CommunicatorContract;
  TRY(contract.together("several at once", &Contract::several_at_once));
  TRY(contract.together("splits", &Contract::splits));
  TRY(contract.together("registration", &Contract::registration));
  TRY(contract.together("the order on a stream", &Contract::order_on_the_stream));
  TRY(contract.together("capture", &Contract::capture));
  return contract.together("bounds", &Contract::bad_bounds);
}

Status check_splits(const CommunicatorKind& kind, Device& device, Team& team, Stream& stream) {
  auto contract = TRY(CommunicatorContract::create(kind, device, team, stream, {}));
  return contract.together("splits", &CommunicatorContract::splits);
}

}  // namespace assay::selftest
