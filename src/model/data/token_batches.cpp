#include "model/data/token_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/random.h"
#include "core/read_file.h"

namespace assay {
namespace {

constexpr std::int32_t llm_c_magic = 20240520;  // first word of llm.c's token files
constexpr std::size_t llm_c_header = 256 * 4;

/// Sorts one batch's places by token.
void sort_places(TokenBatches& batches, std::int64_t batch) {
  const auto count = static_cast<std::size_t>(batches.tokens_per_batch);
  const std::int32_t* tokens = &batches.tokens[static_cast<std::size_t>(batch) * count];
  std::vector<std::int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return tokens[a] != tokens[b] ? tokens[a] < tokens[b] : a < b;
  });
  const std::size_t first = batches.starts.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || tokens[order[i]] != tokens[order[i - 1]]) {
      batches.starts.push_back(static_cast<std::int32_t>(i));
    }
  }
  batches.starts.resize(first + count + 1, static_cast<std::int32_t>(count));
  batches.order.insert(batches.order.end(), order.begin(), order.end());
}

}  // namespace

TokenStream synthetic_tokens(std::int32_t vocabulary, std::size_t count, std::uint64_t seed) {
  constexpr double obeying = 0.9;
  Random random(seed);
  const auto any = [&] { return static_cast<std::int32_t>(random.uniform() * vocabulary); };
  // A few thousand rules can be met often enough to be learnt, whatever the vocabulary.
  const auto rules = static_cast<std::size_t>(std::min(vocabulary, 4096));
  std::vector<std::int32_t> follows(rules);
  for (std::int32_t& next : follows) next = any();
  TokenStream text{{}, vocabulary, "synthetic"};
  text.tokens.reserve(count);
  std::int32_t token = any();
  for (std::size_t i = 0; i < count; ++i) {
    text.tokens.push_back(token);
    token = random.uniform() < obeying ? follows[static_cast<std::size_t>(token) % rules] : any();
  }
  return text;
}

Result<TokenStream> read_tokens(const std::string& path, int bytes_per_token,
                                std::int32_t vocabulary) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;  // of tokens; more is not read in a run
  const std::string bytes = TRY(read_operand(path, most * static_cast<unsigned>(bytes_per_token)));
  TokenStream text{{}, vocabulary, path};
  std::size_t at = 0;
  if (bytes_per_token > 1 && bytes.size() >= llm_c_header) {
    std::int32_t first = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    if (first == llm_c_magic) at = llm_c_header;
  }
  const auto width = static_cast<std::size_t>(bytes_per_token);
  if ((bytes.size() - at) % width != 0) {
    return Error{ErrorKind::usage, fmt::format("{}: {} bytes are not a whole number of tokens of "
                                               "{} bytes; is it cut off?",
                                               path, bytes.size() - at, width)};
  }
  text.tokens.reserve((bytes.size() - at) / width);
  for (; at < bytes.size(); at += width) {
    std::uint32_t token = 0;
    std::memcpy(&token, bytes.data() + at, width);
    if (token >= static_cast<std::uint32_t>(vocabulary)) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: token {} at byte {} is not below the model's vocabulary of {}",
                               path, token, at, vocabulary)};
    }
    text.tokens.push_back(static_cast<std::int32_t>(token));
  }
  if (text.tokens.empty()) return Error{ErrorKind::usage, path + ": holds no tokens"};
  return text;
}

SplitTokens hold_back(TokenStream text, std::int64_t least) {
  const auto wanted = static_cast<std::size_t>(least);
  const std::size_t held = std::max(text.tokens.size() / 10, wanted);
  TokenStream rest{{}, text.vocabulary, text.source};
  if (text.tokens.size() >= held + wanted) {
    const auto begin = text.tokens.end() - static_cast<std::ptrdiff_t>(held);
    rest.tokens.assign(begin, text.tokens.end());
    text.tokens.erase(begin, text.tokens.end());
  }
  return {std::move(text), std::move(rest)};
}

Result<TokenBatches> cut_batches(const TokenStream& text, std::int64_t batches, std::int64_t batch,
                                 std::int64_t sequence, std::uint64_t seed) {
  const auto length = static_cast<std::size_t>(sequence);
  if (text.tokens.size() < length + 1) {
    return Error{ErrorKind::usage, fmt::format("{}: {} tokens are less than a sequence of {} and "
                                               "the token after it",
                                               text.source, text.tokens.size(), sequence)};
  }
  TokenBatches cut;
  cut.batches = batches;
  cut.tokens_per_batch = batch * sequence;
  Random random(seed);
  const std::size_t places = text.tokens.size() - length;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t s = 0; s < batch; ++s) {
      const auto from = text.tokens.begin() + static_cast<std::ptrdiff_t>(random.next() % places);
      cut.tokens.insert(cut.tokens.end(), from, from + sequence);
      cut.targets.insert(cut.targets.end(), from + 1, from + sequence + 1);
    }
    sort_places(cut, b);
  }
  return cut;
}

Result<TokenBatches> batches_of_rows(const PackedRows& rows, std::int64_t batch, bool documents) {
  if (rows.rows == 0) return Error{ErrorKind::usage, "there are no documents to train on"};
  TokenBatches made;
  made.batches = (rows.rows + batch - 1) / batch;
  made.tokens_per_batch = batch * rows.length;
  made.tokens = rows.tokens;
  made.targets = rows.targets;
  const auto all = static_cast<std::size_t>(made.batches * made.tokens_per_batch);
  made.tokens.resize(all, 0);
  made.targets.resize(all, ignored_target);
  if (documents) {
    made.document_starts = rows.document_starts;
    for (std::size_t i = made.document_starts.size(); i < all; ++i) {
      made.document_starts.push_back(
          static_cast<std::int32_t>(i % static_cast<std::size_t>(rows.length)));
    }
  }
  for (std::int64_t b = 0; b < made.batches; ++b) sort_places(made, b);
  return made;
}

Result<DeviceBatches> DeviceBatches::upload(Device& device, Stream& stream,
                                            const TokenBatches& host) {
  DeviceBatches made;
  made.batches = host.batches;
  made.tokens_per_batch = host.tokens_per_batch;
  std::vector<std::int32_t> all = host.tokens;
  for (const auto* part : {&host.targets, &host.order, &host.starts, &host.document_starts}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  made.has_documents = !host.document_starts.empty();
  for (auto begin = host.targets.begin(); begin != host.targets.end();
       begin += host.tokens_per_batch) {
    const auto counted = std::count_if(begin, begin + host.tokens_per_batch,
                                       [](std::int32_t target) { return target >= 0; });
    made.counted += counted;
    all.push_back(static_cast<std::int32_t>(counted));
  }
  made.data = TRY(device.allocate(all.size() * sizeof(std::int32_t), MemoryKind::device));
  TRY(stream.copy(made.data.data(), all.data(), made.data.bytes()));
  TRY(stream.synchronize());
  return made;
}

}  // namespace assay
