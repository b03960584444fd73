// What the host gives to a decoder's pass and gets from it: tokens, how the next ones are drawn,
// their log probabilities, and logits.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "compute/device/helpers.h"
#include "model/decoder/decoder.h"
#include "model/tensors/weights.h"

namespace assay {

Status Decoder::draw(Stream& stream, std::int64_t results, std::span<const DrawnRow> rows,
                     std::span<const TokenPenalty> penalties,
                     std::span<const LogprobRow> logprobs) {
  void* const logits = active(activations_.logits);
  const std::int64_t columns = activations_.logits.columns;
  if (!logprobs.empty()) {
    TRY(logprobs_->find_likeliest(stream, logits, logprobs, settings_.shape.vocabulary, columns));
  }
  if (!penalties.empty()) {
    if (penalties.size_bytes() > penalties_.bytes()) {
      TRY(wait(stream));  // what is replaced may still be read
      penalties_ = TRY(device_.allocate(2 * penalties.size_bytes(), MemoryKind::device));
    }
    TRY(stream.copy(penalties_.data(), penalties.data(), penalties.size_bytes()));
    TRY(sampling_->penalize(stream, logits, penalties_.data(), std::ssize(penalties), columns));
    TRY(rows_->most_likely(stream, input(places_.next), logits, results, own_.vocabulary, columns));
  }
  if (rows.size_bytes() > drawn_.bytes()) {
    return Error{ErrorKind::usage,
                 fmt::format("{} drawn tokens of a decoder's pass, allowed are {}", rows.size(),
                             settings_.limits.results)};
  }
  if (!rows.empty()) {
    TRY(stream.copy(drawn_.data(), rows.data(), rows.size_bytes()));
    TRY(sampling_->draw(stream, input(places_.next), logits, drawn_.data(), std::ssize(rows),
                        settings_.shape.vocabulary, columns));
  }
  if (logprobs.empty()) return {};
  return logprobs_->find_chosen(stream, input(places_.next), logits, columns, penalties_.data());
}

Status Decoder::logprobs(Stream& stream, std::span<RowLogprobs> found) {
  if (exchange_) TRY(wait(stream));  // as in next_tokens()
  TRY(logprobs_->copy_to(stream, found));
  return stream.synchronize();
}

Status Decoder::set_tokens(Stream& stream, const DecoderTokens& tokens) {
  const TransformerShape& shape = settings_.shape;
  const DecoderLimits& limits = settings_.limits;
  const auto wrong = [](std::string what) -> Status {
    return Error{ErrorKind::usage, "a decoder's pass: " + std::move(what)};
  };
  if (tokens.positions.size() != tokens.tokens.size() ||
      tokens.sequences.size() != tokens.tokens.size()) {
    return wrong(fmt::format("{} tokens, but {} positions and {} sequences", tokens.tokens.size(),
                             tokens.positions.size(), tokens.sequences.size()));
  }
  const auto below = [&](const std::vector<std::int32_t>& values, std::int64_t end,
                         const char* what) -> Status {
    for (const std::int32_t value : values) {
      if (value < 0 || value >= end) {
        return wrong(fmt::format("{} {}, allowed are 0 to {}", what, value, end - 1));
      }
    }
    return {};
  };
  TRY(below(tokens.tokens, shape.vocabulary, "token"));
  TRY(below(tokens.positions, limits.positions, "position"));
  TRY(below(tokens.sequences, limits.sequences, "sequence"));
  TRY(below(tokens.results, static_cast<std::int64_t>(tokens.tokens.size()), "result of row"));
  TRY(copy_input(stream, places_.tokens, tokens.tokens));
  TRY(copy_input(stream, places_.positions, tokens.positions));
  TRY(copy_input(stream, places_.sequences, tokens.sequences));
  TRY(copy_input(stream, places_.results, tokens.results));
  return wait(stream);
}

Status Decoder::keep_tokens(Stream& stream) {
  if (start_.data() == nullptr) {
    // What advance() changes comes first: tokens and their positions.
    const std::size_t bytes = places_.sequences.offset * sizeof(std::int32_t);
    start_ = TRY(device_.allocate(bytes, MemoryKind::device));
  }
  return stream.copy(start_.data(), inputs_.data(), start_.bytes());
}

Status Decoder::restart(Stream& stream) {
  return stream.copy(inputs_.data(), start_.data(), start_.bytes());
}

Status Decoder::set_tables(Stream& stream, const std::vector<std::int32_t>& tables) {
  for (const std::int32_t block : tables) {
    if (block < 0 || block >= settings_.limits.blocks) {
      return Error{ErrorKind::usage,
                   fmt::format("block {} of a cache of {}", block, settings_.limits.blocks)};
    }
  }
  TRY(copy_input(stream, places_.tables, tables));
  return wait(stream);
}

Status Decoder::copy_input(Stream& stream, const Tensor& to,
                           const std::vector<std::int32_t>& from) {
  if (from.empty()) return {};
  if (from.size() > static_cast<std::size_t>(to.elements())) {
    return Error{ErrorKind::usage, fmt::format("{} numbers of a decoder's pass, allowed are {}",
                                               from.size(), to.elements())};
  }
  return stream.copy(input(to), from.data(), from.size() * sizeof(std::int32_t));
}

Result<std::vector<float>> Decoder::logits(Stream& stream, std::int64_t rows) {
  const auto vocabulary = static_cast<std::size_t>(settings_.shape.vocabulary),
             columns = static_cast<std::size_t>(activations_.logits.columns);
  TRY(wait(stream));
  const std::vector<float> padded =
      TRY(read_weights(stream, active(activations_.logits), settings_.precision,
                       static_cast<std::size_t>(rows) * columns));
  std::vector<float> result;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const auto begin = padded.begin() + static_cast<std::ptrdiff_t>(row * columns);
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(vocabulary));
  }
  return result;
}

Result<std::vector<std::int32_t>> Decoder::next_tokens(Stream& stream, std::int64_t rows) {
  std::vector<std::int32_t> next(static_cast<std::size_t>(rows));
  TRY(next_tokens(stream, next));
  return next;
}

Status Decoder::next_tokens(Stream& stream, std::span<std::int32_t> next) {
  // The copy keeps the host until the pass has ended. A rank that is lost in it must be seen
  // before.
  if (exchange_) TRY(wait(stream));
  TRY(stream.copy(next.data(), input(places_.next), next.size_bytes()));
  return stream.synchronize();
}

Status Decoder::poison_results(Stream& stream) {
  constexpr std::uint8_t poison = 0xFF;
  const auto fill = [&](void* address, const Tensor& t, std::size_t element) {
    return stream.fill(address, poison, static_cast<std::size_t>(t.elements()) * element);
  };
  TRY(fill(active(activations_.logits), activations_.logits, element_));
  return fill(input(places_.next), places_.next, sizeof(std::int32_t));
}

Result<std::vector<float>> Decoder::weights(Stream& stream) {
  std::vector<float> all;
  TRY(weights_->copy_to_host(stream, all));
  return all;
}

Status Decoder::wait(Stream& stream) {
  return exchange_ ? exchange_->wait(stream) : stream.synchronize();
}

}  // namespace assay
