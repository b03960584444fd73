// Attention by AITER's assembly kernels, on MI300X and MI350X. AITER's own launcher
// (csrc/cpp_itfs/mha_fwd.cu and mha_bwd.cu) shows which kernel serves which problem, its grid and
// the meaning of its argument slots. Strides are in bytes.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "compute/vendor/attention/aiter_kernels.h"
#include "compute/vendor/attention/fused_attention.h"
#include "core/hash.h"
#include "core/read_file.h"

namespace assay::aiter {
namespace {

constexpr std::int64_t head_width = 128;
constexpr std::int64_t element = 2;  // bytes of bf16

// The result R is [tokens, heads, 128]; lse, the log of the sums of exponentials, is f32 [batch,
// heads, sequence].
constexpr std::string_view forward_slots[] = {"R",
                                              "Q",
                                              "K",
                                              "V",
                                              "LSE",
                                              "scalar",
                                              "seq_len",
                                              "Seqs",
                                              "Ts",
                                              "Hs",
                                              "Bs",
                                              "gqa",
                                              "k_Seqs",
                                              "k_Hs",
                                              "k_Bs",
                                              "msk_opt",
                                              "lse",
                                              "kv_seq_len",
                                              "qk_head_dim",
                                              "v_head_dim",
                                              "q_head_num",
                                              "v_Seqs",
                                              "v_Hs",
                                              "v_Bs",
                                              "r_Seqs",
                                              "r_Hs",
                                              "r_Bs",
                                              "ptr_qseq",
                                              "ptr_kseq",
                                              "lse_Hs",
                                              "ptr_qseq_padding",
                                              "ptr_kseq_padding"};
// D is the sum of O dO over a head's row.
constexpr std::string_view delta_slots[] = {"O",
                                            "dO",
                                            "D",
                                            "Hs_o",
                                            "BAs_o",
                                            "Seqs_o",
                                            "Hs_do",
                                            "BAs_do",
                                            "Seqs_do",
                                            "Hs_d",
                                            "BAs_d",
                                            "Seqs_d",
                                            "seqlen_q",
                                            "head_dim",
                                            "ptr_seqstart_q|ptr_qseq",
                                            "ptr_seqstart_q_padded|ptr_qseq_padded"};
// dQ is f32 [batch, heads, sequence, 128]; blocks add to it in any order.
constexpr std::string_view backward_slots[] = {"dQ",
                                               "dK",
                                               "dV",
                                               "Q",
                                               "K",
                                               "V",
                                               "dO",
                                               "Lse",
                                               "D",
                                               "scalar",
                                               "log2e",
                                               "seqlen_q",
                                               "Ts",
                                               "Hs_q",
                                               "BAs_q",
                                               "Seqs_q",
                                               "ratio",
                                               "Hs_k",
                                               "BAs_k",
                                               "Seqs_k",
                                               "Seqs_dk",
                                               "seqlen_k",
                                               "head_dim_q",
                                               "head_dim_v|head_dim_k",
                                               "nhead_q",
                                               "Hs_v",
                                               "BAs_v",
                                               "Seqs_v",
                                               "Hs_do",
                                               "BAs_do",
                                               "Seqs_do",
                                               "Hs_dk",
                                               "BAs_dk",
                                               "Hs_dv",
                                               "BAs_dv",
                                               "Seqs_dv",
                                               "Hs_lsed",
                                               "ptr_qseq|ptr_seqstart_q",
                                               "ptr_kseq|ptr_seqstart_k",
                                               "ptr_qseq_padded|ptr_seqstart_q_padded",
                                               "ptr_kseq_padded|ptr_seqstart_k_padded",
                                               "max_seq_len_dq",
                                               "mask_x",
                                               "mask_y"};
constexpr std::string_view convert_slots[] = {"dQ_acc",
                                              "dQ",
                                              "Hs_dQ_acc",
                                              "BAs_dQ_acc",
                                              "Seqs_dQ_acc",
                                              "Hs_dQ",
                                              "BAs_dQ",
                                              "Seqs_dQ",
                                              "seqlen_q",
                                              "head_dim",
                                              "ptr_seqstart_q|ptr_qseq",
                                              "ptr_seqstart_q_padded|ptr_qseq_padded"};

bool is_known(const DeviceFacts& facts) {
  return facts.arch.starts_with("gfx942") || facts.arch.starts_with("gfx950");
}
std::string chip_of(const DeviceFacts& facts) {
  return facts.arch.substr(0, facts.arch.find(':'));
}

std::optional<std::string> unsupported(const FusedAttentionProblem& problem,
                                       const DeviceFacts& facts) {
  if (problem.own_lengths) {
    return "AITER's attention takes no sequences with lengths of their own here";
  }
  if (!problem.forward_only && problem.heads_of_keys() != problem.heads) {
    return fmt::format("{} heads share {} of keys, which is for inference alone here",
                       problem.heads, problem.heads_of_keys());
  }
  if (problem.same_bits && !problem.forward_only) {
    return "AITER's attention adds up gradients of queries in any order; allowed: "
           "attention=library-unordered";
  }
  if (problem.precision != DataType::bf16) {
    return fmt::format("AITER's attention computes in bf16 here, not in {}",
                       name_of(problem.precision));
  }
  if (problem.head_width != head_width) {
    return fmt::format("AITER's attention has heads {} wide here, not {}", head_width,
                       problem.head_width);
  }
  // Kernels read whole tiles and prefetch; beyond the end of a sequence they would read the next
  // one.
  if (problem.sequence % 64 != 0 || problem.sequence < 256) {
    return fmt::format(
        "AITER's attention takes sequences of multiples of 64 from 256 on here, not {}",
        problem.sequence);
  }
  if (!is_known(facts)) {
    return fmt::format("AITER's attention is for gfx942 and gfx950, not for {}", facts.arch);
  }
  // Offsets within an array are 32-bit numbers.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 31;
  const std::int64_t heads = problem.heads + 2 * problem.heads_of_keys();
  const std::int64_t bytes = problem.batch * problem.sequence * heads * head_width * element;
  if (bytes > most_bytes) {
    return fmt::format(
        "AITER's attention takes up to {} bytes of queries, keys and values here, "
        "not {}: a smaller batch fits",
        most_bytes, bytes);
  }
  return std::nullopt;
}

Status check(const FusedAttentionProblem& problem, const DeviceFacts& facts) {
  if (auto reason = unsupported(problem, facts)) {
    return Error{ErrorKind::unsupported, std::move(*reason)};
  }
  TRY(code_folder(chip_of(facts)));
  return {};
}

class AiterAttention final : public FusedAttention {
 public:
  AiterAttention(Device& device, const FusedAttentionProblem& problem)
      : device_(device), problem_(problem), scale_(1 / std::sqrt(float(head_width))) {}

  Status prepare() {
    const std::string arch = chip_of(device_.facts());
    const std::string folder = TRY(code_folder(arch));
    // On gfx942, bf16_cvt says how numbers are rounded to bf16: 0 is to nearest; 3 means that it
    // makes no difference.
    const Wanted bf16 = {{"dtype", "bf16"}, {"mode", "0"}, {"bf16_cvt", "0|3"}};
    const auto with = [&](Wanted more) {
      more.insert(more.end(), bf16.begin(), bf16.end());
      return more;
    };
    const Wanted forward = with({{"hdim_q", "128"}, {"hdim_v", "128"}, {"mask", "2"}});
    const Wanted backward = with({{"hdim_q", "128"},
                                  {"hdim_v", "128"},
                                  {"mask", "1"},
                                  {"atomic32", "1"},
                                  {"pssk", "1"},
                                  {"pddv", "1"}});
    const Wanted beside = with({{"hdim_v", "128"}});
    forward_.emplace(
        TRY(load(folder, "fmha_v3_fwd/fmha_fwd.csv", forward, "ts_qo", forward_slots, 512)));
    if (problem_.forward_only) return {};
    delta_.emplace(
        TRY(load(folder, "fmha_v3_bwd/fmha_bwd_odo.csv", beside, "ts", delta_slots, 256)));
    backward_.emplace(
        TRY(load(folder, "fmha_v3_bwd/fmha_bwd_dqdkdv.csv", backward, "ts", backward_slots, 256)));
    convert_.emplace(
        TRY(load(folder, "fmha_v3_bwd/fmha_bwd_dq_convert.csv", beside, "ts", convert_slots, 256)));
    const auto rows = static_cast<std::size_t>(problem_.batch * problem_.heads * problem_.sequence);
    row_sums_ = TRY(device_.allocate(rows * sizeof(float), MemoryKind::device));
    d_queries_ = TRY(device_.allocate(rows * head_width * sizeof(float), MemoryKind::device));
    return {};
  }

  Status forward(Stream& stream, void* y, const void* qkv, void* log_sum) override {
    const std::int64_t h = problem_.heads, t = problem_.sequence;
    SlotKernel::Arguments a(*forward_);
    a.set("R", y).set("Q", part(qkv, 0)).set("K", part(qkv, 1)).set("V", part(qkv, 2));
    a.set("LSE", log_sum).set("scalar", scale_);
    a.set("seq_len", t).set("kv_seq_len", t).set("q_head_num", h);
    a.set("gqa", h / problem_.heads_of_keys());
    a.set("qk_head_dim", head_width).set("v_head_dim", head_width);
    a.set("Ts", forward_->tile() * packed_row());
    for (const char* const prefix : {"", "k_", "v_"}) {
      set_strides(a, std::string(prefix) + "Hs", std::string(prefix) + "Bs",
                  std::string(prefix) + "Seqs", packed_row());
    }
    set_strides(a, "r_Hs", "r_Bs", "r_Seqs", row());
    // The order in which tiles are assigned to compute units is the one that AITER's launcher
    // chooses.
    const bool few = h % 8 != 0 || t > 16384;
    a.set("msk_opt", std::int64_t{few ? 3 : 5});
    a.set("lse", std::int64_t{log_sum != nullptr});
    a.set("lse_Hs", t * std::int64_t{sizeof(float)});
    // A block takes one tile from the beginning and one from the end.
    const std::int64_t tiles = blocks(t, forward_->tile());
    return forward_->launch(stream, grid((tiles + 1) / 2), a);
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const void* log_sum) override {
    TRY(stream.fill(d_queries_.data(), 0, d_queries_.bytes()));
    TRY(add_up_rows(stream, dy, y));
    TRY(gradients(stream, d_qkv, dy, qkv, log_sum));
    return round_queries(stream, d_qkv);
  }

  std::string library() const override {
    std::vector<std::string> parts = {forward_->hash()};
    if (!problem_.forward_only) {
      parts.insert(parts.end(), {delta_->hash(), backward_->hash(), convert_->hash()});
    }
    return "AITER, code " + hash_of_parts(parts).substr(0, 8);
  }
  bool deterministic() const override { return problem_.forward_only; }
  std::uint64_t allocated_bytes() const override { return row_sums_.bytes() + d_queries_.bytes(); }

 private:
  Result<SlotKernel> load(const std::string& folder, const std::string& table, const Wanted& wanted,
                          std::string_view tile_column, std::span<const std::string_view> slots,
                          unsigned threads) {
    const std::string path = folder + "/" + table;
    const auto text = read_file(path);
    if (!text) return Error{ErrorKind::unavailable, path + " cannot be read"};
    const auto entry = find_entry(*text, wanted, tile_column);
    if (!entry.ok()) return Error{entry.error().kind, path + " " + entry.error().message};
    std::string place = path.substr(0, path.rfind('/') + 1);
    // For forward passes, AITER has separate kernels for one chip of gfx942.
    if (table.starts_with("fmha_v3_fwd") && chip_of(device_.facts()) == "gfx942") {
      place += device_.facts().name.find("MI308") != std::string::npos ? "MI308/" : "MI300/";
    }
    return SlotKernel::load(device_, place + entry->file, *entry, slots, threads);
  }

  static std::int64_t blocks(std::int64_t rows, std::int64_t tile) {
    return (rows + tile - 1) / tile;
  }
  Dim3 grid(std::int64_t tiles) const {
    return {static_cast<unsigned>(tiles), static_cast<unsigned>(problem_.heads),
            static_cast<unsigned>(problem_.batch)};
  }
  // Bytes between tokens.
  std::int64_t row() const { return problem_.heads * head_width * element; }
  std::int64_t packed_row() const {
    return row() + 2 * problem_.heads_of_keys() * head_width * element;
  }
  /// Returns the address of the queries, keys or values in packed ones.
  template <typename Address>
  Address* part(Address* packed, std::int64_t which) const {
    using Byte = std::conditional_t<std::is_const_v<Address>, const std::byte, std::byte>;
    const std::int64_t head =
        which == 0 ? 0 : problem_.heads + (which - 1) * problem_.heads_of_keys();
    return static_cast<Byte*>(packed) + head * head_width * element;
  }
  /// Sets the strides of an array in which a head's 128 elements are contiguous and tokens are
  /// `token_bytes` apart.
  void set_strides(SlotKernel::Arguments& a, std::string_view head, std::string_view batch,
                   std::string_view token, std::int64_t token_bytes) const {
    a.set(head, head_width * element).set(batch, problem_.sequence * token_bytes);
    a.set(token, token_bytes);
  }

  Status add_up_rows(Stream& stream, const void* dy, const void* y) {
    const std::int64_t rows = problem_.sequence * std::int64_t{sizeof(float)};
    SlotKernel::Arguments a(*delta_);
    a.set("O", y).set("dO", dy).set("D", row_sums_.data());
    set_strides(a, "Hs_o", "BAs_o", "Seqs_o", row());
    set_strides(a, "Hs_do", "BAs_do", "Seqs_do", row());
    a.set("Hs_d", rows).set("BAs_d", problem_.heads * rows);
    a.set("Seqs_d", std::int64_t{sizeof(float)});
    a.set("seqlen_q", problem_.sequence).set("head_dim", head_width);
    return delta_->launch(stream, grid(blocks(problem_.sequence, delta_->tile())), a);
  }

  Status gradients(Stream& stream, void* d_qkv, const void* dy, const void* qkv,
                   const void* log_sum) {
    const std::int64_t t = problem_.sequence;
    SlotKernel::Arguments a(*backward_);
    a.set("dQ", d_queries_.data()).set("dK", part(d_qkv, 1)).set("dV", part(d_qkv, 2));
    a.set("Q", part(qkv, 0)).set("K", part(qkv, 1)).set("V", part(qkv, 2));
    a.set("dO", dy).set("Lse", log_sum).set("D", row_sums_.data());
    a.set("scalar", scale_).set("log2e", 1.44269504f);
    a.set("seqlen_q", t).set("seqlen_k", t).set("max_seq_len_dq", t);
    a.set("Ts", backward_->tile() * packed_row());
    a.set("ratio", std::int64_t{1}).set("nhead_q", problem_.heads);
    a.set("head_dim_q", head_width).set("head_dim_v", head_width);
    for (const char* const array : {"q", "k", "v", "dk", "dv"}) {
      set_strides(a, std::string("Hs_") + array, std::string("BAs_") + array,
                  std::string("Seqs_") + array, packed_row());
    }
    set_strides(a, "Hs_do", "BAs_do", "Seqs_do", row());
    a.set("Hs_lsed", t * std::int64_t{sizeof(float)});
    const std::int64_t tiles = blocks(t, backward_->tile());
    return backward_->launch(stream, grid((tiles + 1) / 2), a);
  }

  Status round_queries(Stream& stream, void* d_qkv) {
    const std::int64_t rows = head_width * std::int64_t{sizeof(float)};
    const std::int64_t head = problem_.sequence * rows;
    SlotKernel::Arguments a(*convert_);
    a.set("dQ_acc", d_queries_.data()).set("dQ", part(d_qkv, 0));
    a.set("Hs_dQ_acc", head).set("BAs_dQ_acc", problem_.heads * head).set("Seqs_dQ_acc", rows);
    set_strides(a, "Hs_dQ", "BAs_dQ", "Seqs_dQ", packed_row());
    a.set("seqlen_q", problem_.sequence).set("head_dim", head_width);
    return convert_->launch(stream, grid(blocks(problem_.sequence, convert_->tile())), a);
  }

  Device& device_;
  const FusedAttentionProblem problem_;
  const float scale_;
  std::optional<SlotKernel> forward_, delta_, backward_, convert_;
  Buffer row_sums_;   // f32 [batch, heads, sequence]
  Buffer d_queries_;  // f32 [batch, heads, sequence, 128]
};

Result<std::unique_ptr<FusedAttention>> open(Device& device, const FusedAttentionProblem& problem) {
  auto made = std::make_unique<AiterAttention>(device, problem);
  TRY(made->prepare());
  return std::unique_ptr<FusedAttention>(std::move(made));
}

const FusedAttentionRegistry::Add registered{
    {.backend = "hip", .same_bits = false, .check = &check, .open = &open}};

}  // namespace
}  // namespace assay::aiter
