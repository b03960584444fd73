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

// Writes the bytes as they are in memory, because all ranks run the same program.
template <typename T>
void put_elements(std::string& text, const std::vector<T>& elements) {
  put(text, std::string_view(reinterpret_cast<const char*>(elements.data()),
                             elements.size() * sizeof(T)));
}
/// False: they are not whole ones.
template <typename T>
bool take_elements(PayloadReader& reader, std::vector<T>& elements) {
  const std::string bytes = reader.text();
  elements.resize(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return bytes.size() % sizeof(T) == 0;
}

/// Whether they are rows of a pass, in their order, none twice.
bool lie_within(const std::vector<PromptRows>& all, std::int64_t rows) {
  std::int64_t row = 0;
  for (const PromptRows& prompts : all) {
    if (prompts.begin < row || prompts.length < 1 || prompts.count < 1) return false;
    row = prompts.end();
  }
  return row <= rows;
}

}  // namespace

std::string to_text(const StepOrder& order) {
  std::string text;
  put(text, static_cast<std::uint64_t>(order.kind));
  if (order.kind != StepOrder::Kind::pass) return text;
  const DecoderPass& pass = order.pass;
  for (const std::int64_t number : {pass.tokens, pass.results, pass.longest}) {
    put(text, static_cast<std::uint64_t>(number));
  }
  put(text, std::uint64_t{order.graph});
  put(text, std::uint64_t{pass.apart});
  put_elements(text, pass.prompts);
  for_each_vector(order, [&](const Numbers& numbers) { put_elements(text, numbers); });
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
    for (std::int64_t* const number : {&pass.tokens, &pass.results, &pass.longest}) {
      *number = static_cast<std::int64_t>(reader.number());
    }
    order.graph = reader.number() != 0;
    pass.apart = reader.number() != 0;
    fits = take_elements(reader, pass.prompts);
    for_each_vector(order,
                    [&](Numbers& numbers) { fits = take_elements(reader, numbers) && fits; });
    fits = fits && lie_within(pass.prompts, pass.tokens) &&
           order.places.size() == order.blocks.size() && pass.results >= 0 &&
           pass.results <= pass.tokens && pass.tokens == std::ssize(order.rows.tokens);
  }
  if (fits && reader.ok()) return order;
  return Error{ErrorKind::failed, "rank 0 told of a step that is none"};
}

}  // namespace assay::engine
