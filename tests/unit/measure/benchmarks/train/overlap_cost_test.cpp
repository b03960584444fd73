// A model of passes and the communication beside them, whose answers are known by hand.
#include "measure/benchmarks/train/overlap_cost.h"

#include <gtest/gtest.h>

#include "model/parallel/simulated_device.h"

namespace assay {
namespace {

using Kind = StepCall::Kind;

/// The slowdown of passes and of communication while the other runs.
SimulatedWork passes(double seconds, double slowed = 1) {
  return {.seconds = seconds, .kind = 0, .slowed = {{1, slowed}}};
}
SimulatedWork exchange(double seconds, double slowed = 1) {
  return {.seconds = seconds, .kind = 1, .slowed = {{0, slowed}}};
}

struct TwoStreams {
  std::unique_ptr<Device> device = make_simulated_device();
  std::unique_ptr<Stream> one = device->create_stream(StreamPriority::normal).value();
  std::unique_ptr<Stream> other = device->create_stream(StreamPriority::high).value();
  std::unique_ptr<Event> event = device->create_event().value();
  std::unique_ptr<Event> done = device->create_event().value();
};

/// 4 s alone, then 4 s of passes that take 1.5 times as long beside 6 s of exchange, which take
/// twice as long there: after 6 s of both, 3 s of the exchange are left.
TEST(SimulatedDevice, StreamsSlowEachOtherDownWhileBothWork) {
  TwoStreams streams;
  simulated(*streams.one).advance(passes(4, 1.5));
  ASSERT_TRUE(streams.one->record(*streams.event));
  ASSERT_TRUE(streams.other->wait(*streams.event));
  simulated(*streams.other).advance(exchange(6, 2));
  ASSERT_TRUE(streams.other->record(*streams.done));
  simulated(*streams.one).advance(passes(4, 1.5));
  EXPECT_DOUBLE_EQ(simulated(*streams.one).now(), 10);
  EXPECT_DOUBLE_EQ(simulated(*streams.other).now(), 13);
  EXPECT_DOUBLE_EQ(streams.done->seconds_since(*streams.event).value(), 9);
  // What comes later begins when all of that is complete.
  ASSERT_TRUE(streams.one->wait(*streams.done));
  simulated(*streams.one).advance(passes(1));
  EXPECT_DOUBLE_EQ(simulated(*streams.one).now(), 14);
}

/// The exchange ends first: 2 s of it take 3 beside 10 s of passes, of which 1.5 are done by then.
TEST(SimulatedDevice, WorkGoesOnAtItsOwnPaceAfterwards) {
  TwoStreams streams;
  simulated(*streams.one).advance(passes(10, 2));
  simulated(*streams.other).advance(exchange(2, 1.5));
  EXPECT_DOUBLE_EQ(simulated(*streams.other).now(), 3);
  EXPECT_DOUBLE_EQ(simulated(*streams.one).now(), 11.5);
}

/// Beside another kind of operation passes are slower by another factor: 3 s beside the first do 2
/// of them, 3 s beside the second 1, and 3 are left; a third kind takes nothing from them.
TEST(SimulatedDevice, EachKindSlowsByItsOwnFactor) {
  TwoStreams streams;
  simulated(*streams.one).advance({.seconds = 6, .kind = 0, .slowed = {{1, 1.5}, {2, 3}}});
  simulated(*streams.other).advance({.seconds = 3, .kind = 1});
  simulated(*streams.other).advance({.seconds = 3, .kind = 2});
  simulated(*streams.other).advance({.seconds = 1, .kind = 3});
  EXPECT_DOUBLE_EQ(simulated(*streams.one).now(), 9);
}

/// A wait is for the last record before it, and for nothing if there was none.
TEST(SimulatedDevice, WaitsAreForWhatWasRecorded) {
  TwoStreams streams;
  ASSERT_TRUE(streams.other->wait(*streams.event));
  simulated(*streams.one).advance(passes(2));
  ASSERT_TRUE(streams.one->record(*streams.event));
  ASSERT_TRUE(streams.other->wait(*streams.event));
  simulated(*streams.one).advance(passes(5));
  ASSERT_TRUE(streams.one->record(*streams.event));
  simulated(*streams.other).advance(exchange(1));
  EXPECT_DOUBLE_EQ(simulated(*streams.other).now(), 3);
  EXPECT_DOUBLE_EQ(simulated(*streams.one).now(), 7);
}

/// Three sections of f32, added up by ddp as soon as each is complete.
struct ThreeSections {
  ParameterPlan plan;
  ParameterArenas arenas;

  ThreeSections() {
    plan.type = DataType::f32;
    plan.parallel.ranks = 2;
    plan.parallel.bucket_bytes = 1;
    TensorPlaces places(2);
    std::vector<Section> sections;
    for (int i = 0; i < 3; ++i) {
      places.next(1, 1 << 16);
      sections.push_back(places.end_section());
    }
    bytes = sections.front().elements() * sizeof(float);
    const auto device = make_simulated_device();
    const auto stream = device->create_stream(StreamPriority::normal).value();
    arenas = ParameterArenas::allocate(*device, *stream, plan, std::move(sections), 0, 0).value();
  }

  std::uint64_t bytes;  // of a section
};

std::vector<StepCall> three_passes(double slowed) {
  const auto call = [&](Kind kind, std::size_t section, double seconds) {
    return StepCall{.kind = kind,
                    .section = section,
                    .seconds = seconds,
                    .slowed = {{CollectiveOperation::all_reduce, slowed}}};
  };
  return {call(Kind::begin_pass, 0, 0),      call(Kind::close_gradients, 2, 10),
          call(Kind::close_gradients, 1, 4), call(Kind::close_gradients, 0, 4),
          call(Kind::finish, 0, 0),          call(Kind::end, 0, 2)};
}

/// Each section's sum takes 3 s alone. Passes of 10, 4 and 4 s, then an update of 2 s.
TEST(StepSimulation, PassesAndExchangeSlowEachOtherDown) {
  const ThreeSections model;
  ExchangeModel exchange(2);
  exchange.add(CollectiveOperation::all_reduce, model.bytes, 3);
  const auto seconds = [&](double passes_slowed, double exchange_slowed) {
    exchange.set_slowed(CollectiveOperation::all_reduce, exchange_slowed);
    return simulated_step(three_passes(passes_slowed), exchange, model.plan, model.arenas, 2)
        .value();
  };
  // Sums at 10 to 13 and 14 to 17; the last one shows: 18 to 21. The update follows.
  EXPECT_DOUBLE_EQ(seconds(1, 1), 23);
  // Two of each 4 s take 3 s beside a sum: passes end at 10 + 5 + 5, the last sum at 23.
  EXPECT_DOUBLE_EQ(seconds(1.5, 1), 25);
  // A sum takes 2 x 3 s beside passes: 4 of them beside the first ones (2 s of it), 2 s and 1 s of
  // the first sum are left at 14; beside the second 4 s it ends at 16, and of the second sum 1 s is
  // done at 18. The other 2 s and the last sum have nothing beside them: 18 + 2 + 3.
  EXPECT_DOUBLE_EQ(seconds(1, 2), 25);
}

/// Sums of 3 and 5 s one by one take 6 s together in a row.
TEST(ExchangeModel, OperationsTakeTheirSharesOfAllInARow) {
  ExchangeModel exchange(2);
  exchange.add(CollectiveOperation::all_reduce, 400, 3);
  exchange.add(CollectiveOperation::all_reduce, 800, 5);
  exchange.spread_over({{.count = 100}, {.count = 200}}, 6);  // f32
  EXPECT_DOUBLE_EQ(exchange.seconds(CollectiveOperation::all_reduce, 400, 2), 2.25);
  EXPECT_DOUBLE_EQ(exchange.seconds(CollectiveOperation::all_reduce, 800, 2), 3.75);
  ExchangeModel none(2);
  none.spread_over({{.count = 100}}, 6);
  EXPECT_EQ(none.seconds(CollectiveOperation::all_reduce, 400, 2), 0);
}

/// Two ranks send the first section at 10 s and gather rows before they complete the last: sums at
/// 10 and 14, rows from 17 to 18, the last sum to 21. Until its end, rows are added for half a
/// second each, and a quarter of a second of other work needs only the sums before. With eight
/// ranks, whose operations take three times as long, the rows are more than the sum: sums at 14, 23
/// and 32 to 41; each adds its own for half a second before.
TEST(StepSimulation, ManyRanksDoNotGatherRows) {
  const ThreeSections model;
  const std::uint64_t rows = model.bytes / sizeof(float) / 2;
  ExchangeModel exchange(2);
  exchange.add(CollectiveOperation::all_reduce, model.bytes, 3);
  exchange.add(CollectiveOperation::all_gather, 2 * rows * sizeof(float), 1);
  const std::vector<StepCall> calls = {{.kind = Kind::begin_pass},
                                       {.kind = Kind::send_gradients, .section = 0, .seconds = 10},
                                       {.kind = Kind::close_gradients, .section = 2, .seconds = 4},
                                       {.kind = Kind::gather_rows, .section = 0, .elements = rows},
                                       {.kind = Kind::close_gradients, .section = 1, .seconds = 4},
                                       {.kind = Kind::take_rows, .section = 0},
                                       {.kind = Kind::await_all_but_last, .seconds = 0.5},
                                       {.kind = Kind::finish, .seconds = 0.25},
                                       {.kind = Kind::end, .seconds = 2}};
  const auto seconds = [&](int ranks) {
    return simulated_step(calls, exchange, model.plan, model.arenas, ranks).value();
  };
  EXPECT_DOUBLE_EQ(seconds(2), 23);
  EXPECT_DOUBLE_EQ(seconds(8), 43);
}

/// Rows of an eighth of the whole, which takes no time to send: 16 s of passes, and an update of 2.
/// Four ranks add four times what each looked up, sixteen send the whole and add their own.
TEST(StepSimulation, EachRankAddsWhatThoseThatGatherLookedUp) {
  const ThreeSections model;
  const std::vector<StepCall> calls = {
      {.kind = Kind::begin_pass},
      {.kind = Kind::send_gradients, .section = 0, .seconds = 16},
      {.kind = Kind::gather_rows, .section = 0, .elements = model.bytes / sizeof(float) / 8},
      {.kind = Kind::take_rows},
      {.kind = Kind::finish, .seconds = 0.5},
      {.kind = Kind::end, .seconds = 2}};
  const auto seconds = [&](int ranks) {
    return simulated_step(calls, ExchangeModel(2), model.plan, model.arenas, ranks).value();
  };
  EXPECT_DOUBLE_EQ(seconds(2), 19);
  EXPECT_DOUBLE_EQ(seconds(4), 20);
  EXPECT_DOUBLE_EQ(seconds(16), 18.5);
}

/// By zero1 each rank adds its slice to the norm, and updates it: a quarter of two ranks' of eight.
TEST(StepSimulation, EachRankUpdatesItsSlice) {
  ThreeSections model;
  model.plan.parallel.sharding = Sharding::optimizer;
  const std::vector<StepCall> calls = {{.kind = Kind::begin_pass},
                                       {.kind = Kind::close_gradients, .section = 2, .seconds = 16},
                                       {.kind = Kind::close_gradients, .section = 1},
                                       {.kind = Kind::close_gradients, .section = 0},
                                       {.kind = Kind::await_all_but_last},
                                       {.kind = Kind::finish, .seconds = 1},
                                       {.kind = Kind::end, .seconds = 3}};
  const auto seconds = [&](int ranks) {
    return simulated_step(calls, ExchangeModel(2), model.plan, model.arenas, ranks).value();
  };
  EXPECT_DOUBLE_EQ(seconds(2), 20);
  EXPECT_DOUBLE_EQ(seconds(8), 17);
}

/// Each of n ranks sends (n - 1) times its rows, or 2 (n - 1)/n times all of it, by zero1 half.
TEST(ParallelPlan, GathersRowsWhereTheyAreFewer) {
  ParallelPlan plan;
  EXPECT_FALSE(plan.gathers_rows(1, 100));  // alone
  plan.ranks = 4;
  EXPECT_TRUE(plan.gathers_rows(49, 100));
  EXPECT_FALSE(plan.gathers_rows(50, 100));
  plan.sharding = Sharding::optimizer;
  EXPECT_TRUE(plan.gathers_rows(24, 100));
  EXPECT_FALSE(plan.gathers_rows(25, 100));
  plan.f32_sums = true;
  EXPECT_FALSE(plan.gathers_rows(1, 100));
  plan = {.ranks = 4, .sharding = Sharding::parameters};
  EXPECT_FALSE(plan.gathers_rows(1, 100));
}

/// What takes no time there cannot be slower; the calls keep their order.
TEST(TrainOverlap, MediansOfEachCall) {
  const auto run = [](double first, double second, double update) {
    return std::vector<StepCall>{{.kind = Kind::begin_pass, .seconds = 0},
                                 {.kind = Kind::close_gradients, .section = 1, .seconds = first},
                                 {.kind = Kind::finish, .seconds = second},
                                 {.kind = Kind::end, .seconds = update}};
  };
  constexpr auto sums = CollectiveOperation::all_reduce, gathers = CollectiveOperation::all_gather;
  const std::vector<std::vector<StepCall>> alone = {run(1, 2, 5), run(9, 2.5, 5),
                                                    run(1.25, 1.5, 5)};
  std::vector<StepCall> calls = medians_of(alone);
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[1].section, 1u);
  EXPECT_DOUBLE_EQ(calls[1].seconds, 1.25);
  const double slower =
      set_slowed(calls, sums, alone, {run(2.5, 3, 50), run(2, 3, 50), run(9, 3, 50)});
  EXPECT_DOUBLE_EQ(slower, 5.5 / 3.25);  // without the update
  EXPECT_DOUBLE_EQ(set_slowed(calls, gathers, alone, {run(1.25, 4, 5)}), 5.25 / 3.25);
  EXPECT_DOUBLE_EQ(calls[1].slowed.at(sums), 2);
  EXPECT_DOUBLE_EQ(calls[2].slowed.at(sums), 1.5);
  EXPECT_FALSE(calls[0].slowed.contains(sums));
  EXPECT_DOUBLE_EQ(calls[1].slowed.at(gathers), 1);
  EXPECT_DOUBLE_EQ(calls[2].slowed.at(gathers), 2);
}

TEST(TrainOverlap, CallsTakeTheirSharesOfStepsInARow) {
  std::vector<StepCall> calls = {{.seconds = 1}, {.seconds = 3}};
  spread_over(calls, 5);
  EXPECT_DOUBLE_EQ(calls[0].seconds, 1.25);
  EXPECT_DOUBLE_EQ(calls[1].seconds, 3.75);
  std::vector<StepCall> none = {{.seconds = 0}};
  spread_over(none, 5);
  EXPECT_EQ(none[0].seconds, 0);
}

TEST(TrainOverlap, OperationsBetweenTwoTimes) {
  const std::vector<double> ends = {0, 1, 3, 5, 6};
  EXPECT_DOUBLE_EQ(seconds_between(ends, 0.5, 5.5).value(), 2);  // 1 to 3, 3 to 5
  EXPECT_DOUBLE_EQ(seconds_between(ends, 0, 6).value(), 1.5);
  EXPECT_FALSE(seconds_between(ends, 1.5, 4).has_value());
  EXPECT_FALSE(seconds_between(ends, 7, 9).has_value());
}

/// 32 GB in 1 s beside passes of 2 s: a sixteenth of the passes moves 4 GB. Six operations of a
/// layer move more than the one that is the largest.
TEST(TrainOverlap, TheOperationIsOfThoseThatMoveMostOrASixteenthOfThePasses) {
  const ExchangeTimes times = {.passes = 2, .alone = 1, .bus_bytes = 32e9};
  const std::vector<CollectiveCall> exchanged = {
      {.count = 100}, {.count = 8'000'000'000}, {.count = 50}};  // f32 sums
  EXPECT_EQ(repeated_calls(exchanged, times, 2).front().count, 1'000'000'000u);
  EXPECT_EQ(repeated_calls({{.count = 100'000'000}}, times, 2).front().count, 100'000'000u);
  std::vector<CollectiveCall> layers(6, {.count = 100});
  layers.push_back({.count = 500});
  EXPECT_EQ(repeated_calls(layers, times, 2).front().count, 100u);
}

/// zero1 scatters sums and gathers weights; adding up a norm moves next to nothing.
TEST(TrainOverlap, AnOperationOfEachKindThatMovesATenth) {
  constexpr auto gather = CollectiveOperation::all_gather,
                 scatter = CollectiveOperation::reduce_scatter;
  const std::vector<CollectiveCall> exchanged = {{.operation = gather, .count = 50},
                                                 {.operation = scatter, .count = 60},
                                                 {.operation = scatter, .count = 20},
                                                 {.operation = CollectiveOperation::all_reduce}};
  const std::vector<CollectiveCall> calls =
      repeated_calls(exchanged, {.passes = 2, .alone = 1, .bus_bytes = 32e9}, 2);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].operation, scatter);
  EXPECT_EQ(calls[0].count, 60u);
  EXPECT_EQ(calls[1].operation, gather);
}

TEST(TrainOverlap, TheOperationRepeatsForLongerThanThePasses) {
  EXPECT_EQ(repetitions(0.125, 2), 32u);  // 4 s
  EXPECT_EQ(repetitions(3, 2), 4u);       // inside the passes and at both ends
  EXPECT_EQ(repetitions(0, 2), 4u);
  EXPECT_EQ(repetitions(1e-6, 2), 16384u);
}

}  // namespace
}  // namespace assay
