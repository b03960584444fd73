#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "serving/workload/datasets.h"
#include "serving/workload/json_objects.h"
#include "serving/workload/token_stream.h"

namespace assay {
namespace {

struct TraceRow {
  double seconds = 0;
  std::uint64_t input_tokens = 0, output_tokens = 0;
  std::vector<std::uint64_t> hashes;  // hashes of its blocks, from the beginning
};

class TracePrompts final : public Prompts {
 public:
  TracePrompts(std::vector<TraceRow> rows, const PromptSettings& settings)
      : rows_(std::move(rows)),
        seed_(settings.seed),
        block_tokens_(settings.block_tokens),
        range_(token_range(settings.vocabulary)) {}

  std::size_t size() const override { return rows_.size(); }
  double recorded_seconds(std::size_t index) const override { return rows_[index].seconds; }

  Prompt at(std::size_t index) const override {
    const TraceRow& row = rows_[index];
    Prompt prompt;
    prompt.conversation = index;
    prompt.tokens = row.input_tokens;
    prompt.output_tokens = row.output_tokens;
    prompt.ids.reserve(row.input_tokens);
    for (const std::uint64_t hash : row.hashes) {
      Random block = stream_of(seed_, RandomStream::block, hash);
      const std::uint64_t left = row.input_tokens - prompt.ids.size();
      append_ids(prompt.ids, std::min(block_tokens_, left), range_, block);
    }
    // Tokens not covered by a hash are unique to the request.
    Random body = stream_of(seed_, RandomStream::body, index);
    append_ids(prompt.ids, row.input_tokens - prompt.ids.size(), range_, body);
    return prompt;
  }

 private:
  std::vector<TraceRow> rows_;
  std::uint64_t seed_, block_tokens_;
  TokenRange range_;
};

Result<TraceRow> read_recorded(const JsonNode& object, const PromptSettings& settings) {
  constexpr double latest = 1e15;
  TraceRow row;
  row.seconds = TRY(number_at(object, "timestamp", latest)) * settings.trace_unit;
  row.input_tokens = TRY(count_at(object, "input_length", most_tokens));
  // A server takes 0 for "no limit".
  row.output_tokens =
      std::max<std::uint64_t>(1, TRY(count_at(object, "output_length", most_tokens)));
  if (row.input_tokens == 0) return Error{ErrorKind::usage, "input_length is 0"};
  if (settings.output_tokens) row.output_tokens = *settings.output_tokens;
  const JsonNode* hashes = object.find("hash_ids");
  if (hashes == nullptr) return row;
  if (!hashes->is_array()) return Error{ErrorKind::usage, "hash_ids is not an array"};
  for (const JsonNode& hash : hashes->items) {
    const auto id = hash.kind == JsonNode::Kind::number ? parse_count(hash.text) : std::nullopt;
    if (!id) return Error{ErrorKind::usage, "hash_ids must hold only whole numbers"};
    row.hashes.push_back(*id);
  }
  const std::uint64_t blocks = (row.input_tokens - 1) / settings.block_tokens + 1;
  if (row.hashes.size() > blocks) {
    return Error{ErrorKind::usage,
                 fmt::format("{} hash_ids of {} tokens each are more than its {} tokens",
                             row.hashes.size(), settings.block_tokens, row.input_tokens)};
  }
  return row;
}

}  // namespace

Result<std::unique_ptr<Prompts>> trace_prompts(const PromptSettings& settings) {
  constexpr std::size_t most_hashes = 100'000'000;  // 800 MB
  JsonObjects objects = TRY(JsonObjects::open(settings.file));
  std::vector<TraceRow> rows;
  std::size_t hashes = 0;
  while (rows.size() < settings.count) {
    const auto object = TRY(objects.next());
    if (!object) break;
    auto row = read_recorded(*object, settings);
    if (!row.ok()) return objects.wrong(row.error().message);
    hashes += row->hashes.size();
    if (hashes > most_hashes) return objects.wrong("it holds more than 100 million hash_ids");
    rows.push_back(std::move(*row));
  }
  if (rows.empty()) {
    return Error{ErrorKind::usage, fmt::format("{}: it has no requests", settings.file)};
  }
  return std::unique_ptr<Prompts>(std::make_unique<TracePrompts>(std::move(rows), settings));
}

}  // namespace assay
