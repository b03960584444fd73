#include "text_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/json.h"
#include "core/read_file.h"
#include "core/write_file.h"
#include "model/training/transformer_training.h"
#include "model/training/weight_files.h"
#include "model/transformer/named_shapes.h"
#include "support/model_config.h"

namespace assay {
namespace {

constexpr std::int64_t batch = 8, sequence = 128;

Result<TransformerShape> shape_of_bytes() {
  TransformerShape shape = TRY(parse_decoder_shape("4L4H2K32D128C384F256V"));
  shape.head_norms = true;
  return shape;
}

/// The files in the order of their names.
Result<TokenStream> bytes_of_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_regular_file() && entry.path().extension() == ".md") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  TokenStream text = {{}, 256, folder.string()};
  for (const std::filesystem::path& file : files) {
    for (const char byte : TRY(read_operand(file, std::size_t{16} << 20))) {
      text.tokens.push_back(static_cast<unsigned char>(byte));
    }
  }
  return text;
}

Status run_steps(Training& training, Stream& stream, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) TRY(training.step(stream));
  return stream.synchronize();
}

}  // namespace

Result<TextModel> train_on_text(Device& device, const TextModelSettings& settings,
                                const std::filesystem::path& folder) {
  const auto begin = std::chrono::steady_clock::now();
  const SplitTokens text = hold_back(TRY(bytes_of_files(settings.text)), 10 * sequence);
  if (text.held_back.tokens.empty()) {
    return Error{ErrorKind::usage, fmt::format("{} has less text in .md files than a model can be "
                                               "trained on",
                                               settings.text.string())};
  }
  TransformerSettings training;
  training.plan.shape = TRY(shape_of_bytes());
  training.plan.batch = batch;
  training.plan.sequence = sequence;
  training.plan.type = training.precision = DataType::f32;
  training.rates = warmup_and_cosine(3e-3f, settings.steps / 10, settings.steps);
  const TokenBatches batches = TRY(cut_batches(text.training, settings.steps, batch, sequence, 1));
  const std::unique_ptr<Stream> stream = TRY(device.create_stream());
  const auto made = TRY(TransformerTraining::create(device, *stream, training, batches));
  TRY(run_steps(*made, *stream, settings.steps));
  const std::int64_t counted = std::min<std::int64_t>(settings.steps, 20);
  const std::vector<float> losses =
      TRY(made->losses(*stream, static_cast<std::uint64_t>(settings.steps - counted),
                       static_cast<std::uint64_t>(counted)));
  const std::filesystem::path base = folder / "base", trained = folder / "trained";
  std::filesystem::create_directories(base);
  TRY(write_file(base / "config.json", config_of(training.plan.shape).dump()));
  TRY(save_weights(*made, *stream, training.plan.shape,
                   TransformerParameters::of(training.plan.shape), base, trained));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return TextModel{
      training.plan.shape, trained, text.held_back.tokens,
      std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size()),
      took.count()};
}

}  // namespace assay
