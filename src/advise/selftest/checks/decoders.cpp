// Decoders: small versions of every kind of model, with weights of every type, against the
// reference in double precision.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"

namespace assay::selftest::decoders {
namespace {

/// One shape of each kind: what it norms, biases, ties and rotates, and how heads share keys.
Result<std::vector<std::pair<std::string, TransformerShape>>> kinds() {
  std::vector<std::pair<std::string, TransformerShape>> all;
  TransformerShape shape = TRY(parse_decoder_shape("1L8H2K64D64C"));
  shape.rope_scaling = RopeScaling{.original_positions = 32};  // so that it matters
  all.emplace_back("llama", shape);
  shape = TRY(parse_decoder_shape("1L2H1K128D64C"));
  shape.head_norms = shape.tied = true;
  all.emplace_back("qwen3", shape);
  shape = TRY(parse_decoder_shape("1L7H1K32D64C"));
  shape.biases = Biases::qkv;
  all.emplace_back("qwen2", shape);
  all.emplace_back("heads that share nothing", TRY(parse_decoder_shape("1L2H2K16D64C")));
  return all;
}

template <DataType precision>
Answer check_kinds(Stage& stage, std::optional<DataType> codes,
                   std::optional<DataType> cache_codes = {}) {
  std::string answer;
  for (const auto& [name, shape] : TRY(kinds())) {
    const DecoderGate gate = TRY(check_decoder(stage.device, stage.stream,
                                               {.shape = shape,
                                                .limits = {},
                                                .precision = precision,
                                                .quantization = {codes, InputCodes::where_faster},
                                                .cache_codes = cache_codes}));
    TRY(expect(gate.passed() && gate.error > 0,
               fmt::format("{}: logits are off by {:.2g}, allowed more than 0 up to {:.2g}", name,
                           gate.error, gate.tolerance)));
    answer +=
        fmt::format("{}{} {:.2g}", answer.empty() ? "errors of logits: " : ", ", name, gate.error);
    if (!stage.large) break;
  }
  return answer;
}

/// The kernels are compiled first, unless they are in the cache.
constexpr double limit_seconds = 120;

const AddChecks registered{
    {.name = "decoder-f32",
     .topic = Topic::kernels,
     .about = "decoders of every kind in f32 have the reference's logits",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return check_kinds<DataType::f32>(stage, {}); }},
    {.name = "decoder-bf16",
     .topic = Topic::kernels,
     .about = "decoders of every kind in bf16 have the reference's logits",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return check_kinds<DataType::bf16>(stage, {}); }},
    {.name = "decoder-i8",
     .topic = Topic::kernels,
     .about = "decoders in bf16 with matrices of i8 have the reference's logits",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return check_kinds<DataType::bf16>(stage, DataType::i8); }},
    {.name = "decoder-e4m3",
     .topic = Topic::kernels,
     .about = "decoders in bf16 with matrices of e4m3 have the reference's logits",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return check_kinds<DataType::bf16>(stage, DataType::e4m3); }},
    {.name = "decoder-e4m3-fnuz",
     .topic = Topic::kernels,
     .about = "decoders in bf16 with matrices of e4m3_fnuz have the reference's logits",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = [](Stage& stage) { return check_kinds<DataType::bf16>(stage, DataType::e4m3_fnuz); }},
    {.name = "decoder-fp8-cache",
     .topic = Topic::kernels,
     .about =
         "decoders in bf16 with a cache of the device's fp8 have the reference's logits but for "
         "rounding",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run =
         [](Stage& stage) {
           return check_kinds<DataType::bf16>(stage, {},
                                              cache_codes_named("fp8", stage.device.facts()));
         }},
};

}  // namespace
}  // namespace assay::selftest::decoders
