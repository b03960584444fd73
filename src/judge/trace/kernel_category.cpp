#include "judge/trace/kernel_category.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/regex.h"
#include "core/shown_text.h"

namespace assay {
namespace {

#define ASSAY_NORMS                                                                           \
  "layer_?norm|rms_?norm|group_?norm|batch_?norm|instance_?norm|l2_?norm|(^|_|:)bn_(fw|bw)_|" \
  "GammaBeta|RowwiseMoments|ComputeInternalGradients|Compute(Backward)?FusedParams"

struct NameRule {
  std::string_view category, pattern;
};

/// The first rule that fits wins; their order matters. Triton's names list everything that was
/// fused, so their prefix decides. Convolutions are named after the GEMMs that they are made of.
constexpr NameRule name_rules[] = {
    // assay's own operations, and its kernels, which end in the types of their elements.
    {"attention",
     "^attention (forward|backward) |^flash_(forward|backward|rows|tops)_|^paged_tiles_"},
    {"conv", "^conv (forward|data|weights) "},
    {"gemm", "^gemm m=|^(skinny|vector)_product_"},
    {"norm", "^(add_norm|norm_backward)_(bf16|f16|f32)$"},
    {"rope", "^rotate_heads_"},
    {"kv_cache", "^rotate_and_store_"},
    {"optimizer", "^(adamw|sgd|sum_squares)_|^(prepare_update|end_step|sum_partial)$"},
    {"collective", "^peer_(all_reduce_|sum_|meeting$)"},
    {"sort_scan_reduce",
     "^(most_likely|add_stripes|column_stripes|find_largest|dot)_|^(exact_sum|record_loss)$"},
    {"index", "^(embed|position_gradient|choose_rows|join_columns)_|^(take_batch|advance_tokens)$"},
    {"elementwise",
     "^(relu|relu_backward|swiglu|swiglu_backward|add|add_bias|squared_error|mul|triad|read|write|"
     "initialize|narrow|widen|bf16_of)_(bf16|f16|f32|f64)$"},
    {"copy",
     "^(Memcpy|Memset|MEMORY_COPY_|__amd_rocclr_(copy|fill)Buffer|CopyBuffer|FillBuffer|"
     "CopyDeviceTo|CopyHostTo|memcpy32)"},
    {"collective",
     "^(all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|reduce|gather|scatter) "
     "[a-z0-9_]+$|"
     "^send_recv$|nccl(Dev)?Kernel|rcclGeneric|^nccl|^rccl|mscclKernel|mscclpp|nvshmem|cross_"
     "device_reduce|"
     "(?i:(one|two)_?shot_all_?reduce|multimem_|quick_?reduce|all_?reduce_(fusion|kernel)|deep_ep|"
     "mori_?ep|ep_(dispatch|combine))"},
    {"elementwise", "^triton_poi_"},
    {"norm", "(?i)^triton_(per|red)_(.*(" ASSAY_NORMS ")|(?=.*mean).*rsqrt)"},
    {"softmax", "^triton_(per|red)_(.*softmax|(?>.*?amax).*exp)"},
    {"reduction", "^triton_(per|red)_"},
    {"attention",
     "flash_(fwd|bwd)|(?i:flash_?att)|[Ff]mha|FMHA|^attn_(fwd|bwd)|^bwd_kernel_d[qkv]|"
     "paged_attention|unified_attention|attention_(kernel|2d|3d)|(^|_)mha_|(^|_)mla_|"
     "sage_(fwd|attn)|BatchPrefill|BatchDecode|sdpa|fused_attn|FusedAttn|reduce_segments|"
     "(^|:)pa_(fwd|decode|bf16|fp8)"},
    {"conv",
     "(?i)igemm_(fwd|bwd|wrw)|implicit_gemm|[fsd]prop|dgrad|wgrad|grouped_conv|conv[123]?d|"
     "convolution|winograd|miopenSp3|naive_conv|gcnAsmConv|_scudnn_|im2d?2col|Im2d2Col|fft2d_|"
     "computeB?OffsetsKernel"},
    {"gemm",
     "C[a-z]{3}_A[a-z]{3}_B[a-z]{3}_|^nvjet|_xmma_gemm|gemm(?!_gpu)|GEMM|Gemm|"
     "gemv|splitKreduce|SplitK|matmul|(^|_)bmm_|cublasLt|wvSplitK|LLMM|fused_moe_kernel|"
     "^moe_kernel|MoeFlatmm|dot_kernel|cutlass.*(tensorop|simt|wmma)|ReduceSplitK"},
    {"layout",
     "(?i)nchwToNhwc|nhwcToNchw|batched_transpose_|SubTensorOp|tensorTransform|transpose_fusion"},
    {"norm", "(?i)" ASSAY_NORMS},
    {"softmax", "(?i)softmax|cross_entropy|nll_loss"},
    {"optimizer",
     "multi_tensor_apply|FusedAdam|AdamFunctor|LambFunctor|lamb_(compute|update)|fused_adam"},
    {"moe_routing",
     "(?i)moe.*(rout|sort|finaliz|align|gather|topk)|routing|topk_(gating|softmax)|bitmatrix|"
     "_topk_forward"},
    {"sort_scan_reduce",
     "(?i)RadixSort|DeviceScan|DeviceReduce|DeviceSelect|DeviceCompact|rocprim|hipcub|(^|:)cub::|"
     "reduce_kernel|topk|sort|sampling|multinomial"},
    {"kv_cache", "(?i)reshape_and_cache|store_kv|kv_?cache|kv_indices"},
    {"rope", "(?i)rotary|(^|_)rope"},
    {"index", "(?i)index|gather|scatter|embedding|permute|bucketize|bounds_check"},
    {"pool", "(?i)pool|upsample"},
    {"elementwise",
     "(?i)elementwise|vectorized|unrolled|copy|CatArray|fill|act_and_mul|silu|gelu|quant|cast|"
     "distribution|dropout|where|masked|transpose|OpTensor|triton|scalePacked|activation|fusion"},
};
#undef ASSAY_NORMS

const std::vector<std::pair<std::string_view, Pattern>>& compiled_rules() {
  static const auto compiled = [] {
    std::vector<std::pair<std::string_view, Pattern>> all;
    for (const NameRule& rule : name_rules) {
      constexpr std::uint32_t most_steps = 1'000'000;  // of a name made to be slow
      auto pattern = Pattern::compile_unicode(rule.pattern, most_steps);
      if (pattern.ok()) all.emplace_back(rule.category, std::move(pattern).value());
    }
    return all;
  }();
  return compiled;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Returns the function's own name, without return type, arguments and well-known namespaces; empty
/// for functions whose name says nothing, because they run what their template argument is.
std::string own_name(std::string text) {
  replace_all(text, "(anonymous namespace)", "anon");
  replace_all(text, "decltype(nullptr)", "nullptr");
  for (const std::string_view type : {"void ", "float ", "int "}) {
    if (text.starts_with(type)) {
      text.erase(0, type.size());
      break;
    }
  }
  std::string_view name = std::string_view(text).substr(0, text.find_first_of("<("));
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  const std::size_t colons = name.rfind("::");
  const std::string_view last = colons == name.npos ? name : name.substr(colons + 2);
  for (const std::string_view host :
       {"Kernel", "Kernel2", "kernel", "kentry", "globalKernel", "trampoline_kernel",
        "device_kernel", "multi_tensor_apply_kernel"}) {
    if (last == host) return {};
  }
  for (const std::string_view space :
       {"fbgemm_gpu::", "at::", "native::", "anon::", "c10::", "vllm::"}) {
    if (name.starts_with(space)) name.remove_prefix(space.size());
  }
  return std::string(name);
}

}  // namespace

std::string_view plain_kernel_name(std::string_view name) {
  for (const std::string_view mark : {" [clone .kd]", " (.kd)", ".kd"}) {
    if (name.ends_with(mark)) name.remove_suffix(mark.size());
  }
  return name;
}

std::string_view kernel_category(std::string_view name) {
  constexpr std::size_t most = 4096;
  const std::string whole = shown_line(plain_kernel_name(name), most);  // valid UTF-8 for patterns
  for (const std::string& text : {own_name(whole), whole}) {
    if (text.empty()) continue;
    for (const auto& [category, pattern] : compiled_rules()) {
      if (pattern.next(text, 0)) return category;
    }
  }
  return "other";
}

}  // namespace assay
