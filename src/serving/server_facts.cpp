#include "serving/server_facts.h"

#include <fmt/format.h>

#include "core/json.h"
#include "core/json_text.h"
#include "serving/client/http_call.h"

namespace assay {
namespace {

constexpr double reply_patience_seconds = 10;
constexpr int status_ok = 200;

std::uint64_t count_at(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

}  // namespace

Result<ServedModel> served_model(const Endpoint& endpoint, std::string_view fields) {
  const HttpReply reply =
      TRY(http_call(endpoint, "GET", "/v1/models", fields, "", reply_patience_seconds));
  const auto no_models = [&](std::string_view why) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{}/v1/models names no model ({}); name it with --model",
                             text_of(endpoint.url), why)};
  };
  if (reply.status != status_ok) return no_models(fmt::format("HTTP {}", reply.status));
  const auto json = parse_json(reply.body);
  if (!json || !json->is_object()) return no_models("not JSON");
  const auto data = json->find("data");
  if (data == json->end() || !data->is_array() || data->empty() || !data->front().is_object()) {
    return no_models("the list is empty");
  }
  const auto& first = data->front();
  const auto id = first.find("id");
  if (id == first.end() || !id->is_string()) return no_models("the first has no id");
  ServedModel model;
  model.id = id->get<std::string>();
  model.most_tokens = count_at(first, "max_model_len");
  const auto owner = first.find("owned_by");
  if (owner != first.end() && owner->is_string()) model.owner = owner->get<std::string>();
  const auto meta = first.find("meta");
  if (meta != first.end() && meta->is_object()) model.vocabulary = count_at(*meta, "n_vocab");
  return model;
}

std::optional<Scrape> scrape_all(std::span<const Endpoint> targets, std::string_view fields) {
  std::string all;
  for (const Endpoint& target : targets) {
    const auto reply = http_call(target, "GET", "/metrics", fields, "", reply_patience_seconds);
    if (!reply || reply->status != status_ok) return std::nullopt;
    all += reply->body + "\n";
  }
  auto scrape = Scrape::parse(all);
  if (!scrape) return std::nullopt;
  return std::move(*scrape);
}

}  // namespace assay
