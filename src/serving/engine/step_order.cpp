#include "serving/engine/step_order.h"

#include <cstring>

#include "ranks/team/wire.h"

namespace assay::engine {
namespace {

using Numbers = std::vector<std::int32_t>;

/// The vectors of an order, in the order of its text.
template <typename Order, typename Use>
void for_each_vector(Order& order, Use use) {
  for (auto* const numbers : {&order.rows.tokens, &order.rows.positions, &order.rows.sequences,
                              &order.rows.results, &order.places, &order.blocks}) {
    use(*numbers);
  }
}

}  // namespace

std::string to_text(const StepOrder& order) {
  std::string text;
  put(text, static_cast<std::uint64_t>(order.kind));
  if (order.kind != StepOrder::Kind::pass) return text;
  const DecoderPass& pass = order.pass;
  for (const std::int64_t number : {pass.tokens, pass.results, pass.longest, pass.prompt}) {
    put(text, static_cast<std::uint64_t>(number));
  }
  put(text, std::uint64_t{order.graph});
  // As they lie in memory: all ranks run the same program.
  for_each_vector(order, [&](const Numbers& numbers) {
    put(text, std::string_view(reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(std::int32_t)));
  });
  return text;
}

Result<StepOrder> order_from_text(std::string_view text) {
  PayloadReader reader(text);
  StepOrder order;
  const std::uint64_t kind = reader.number();
  bool fits = kind <= static_cast<std::uint64_t>(StepOrder::Kind::end);
  order.kind = static_cast<StepOrder::Kind>(kind);
  if (fits && order.kind == StepOrder::Kind::pass) {
    DecoderPass& pass = order.pass;
    for (std::int64_t* const number : {&pass.tokens, &pass.results, &pass.longest, &pass.prompt}) {
      *number = static_cast<std::int64_t>(reader.number());
    }
    order.graph = reader.number() != 0;
    for_each_vector(order, [&](Numbers& numbers) {
      const std::string bytes = reader.text();
      fits = fits && bytes.size() % sizeof(std::int32_t) == 0;
      numbers.resize(bytes.size() / sizeof(std::int32_t));
      std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(std::int32_t));
    });
    fits = fits && order.places.size() == order.blocks.size() && pass.results >= 0 &&
           pass.results <= pass.tokens && pass.tokens == std::ssize(order.rows.tokens);
  }
  if (fits && reader.ok()) return order;
  return Error{ErrorKind::failed, "rank 0 told of a step that is none"};
}

}  // namespace assay::engine
