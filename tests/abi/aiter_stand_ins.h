// Kernels that stand for AITER's: the same symbols, slots of arguments and grids, from a simple
// text.
#pragma once

#include <map>
#include <string>

namespace assay {

/// HIP text with one kernel; its parameters, in 16-byte slots, are those of AITER's kernel.
struct StandIn {
  std::string symbol, file, text;
};

inline const std::string stand_in_types = R"(
typedef unsigned u32;
typedef unsigned short u16;
typedef unsigned long u64;
struct alignas(16) P { char* p; };
struct alignas(16) N { u32 n; };
struct alignas(16) F { float f; };
struct M { u32 n; };  // not in a slot of its own
#define KERNEL(threads) extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void
#define DEVICE static __attribute__((device)) inline
DEVICE u32 thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE float number(const char* from) {
  return __builtin_bit_cast(float, u32(*(const u16*)from) << 16);
}
DEVICE void round_to(char* to, float x) {
  const u32 bits = __builtin_bit_cast(u32, x);
  *(u16*)to = u16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
DEVICE float dot(const char* a, const char* b, u32 width) {
  float sum = 0;
  for (u32 i = 0; i < width; ++i) sum += number(a + 2 * i) * number(b + 2 * i);
  return sum;
}
DEVICE float power_of_e(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }
// The head and the sequence of this block.
DEVICE u32 head() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE u32 batch() { return __builtin_amdgcn_workgroup_id_z(); }
// A block takes one of `tiles` tiles from the beginning and one from the end: rows of both.
template <typename Body>
DEVICE void for_rows_of_two_tiles(u32 rows, u32 tile, u32 threads, Body body) {
  const u32 tiles = (rows + tile - 1) / tile, first = __builtin_amdgcn_workgroup_id_x();
  const u32 last = tiles - 1 - first;
  for (u32 half = 0; half < 2; ++half) {
    const u32 begin = (half ? last : first) * tile;
    if (half && last == first) return;
    for (u32 row = begin + thread(); row < begin + tile && row < rows; row += threads) body(row);
  }
}
)";

inline const StandIn stand_in_forward = {"_ZN5aiter31fmha_fwd_hd128_bf16_causal_rtneE",
                                         "fwd_hd128_bf16_causal_rtne.co", R"(
KERNEL(512) _ZN5aiter31fmha_fwd_hd128_bf16_causal_rtneE(
    P R, P Q, P K, P V, P LSE, F scalar, N seq_len, N Seqs, N Ts, N Hs, N Bs, N gqa, N k_Seqs, N k_Hs,
    N k_Bs, N msk_opt, N lse, N kv_seq_len, N qk_head_dim, N v_head_dim, N q_head_num, N v_Seqs, N v_Hs,
    N v_Bs, N r_Seqs, N r_Hs, N r_Bs, P ptr_qseq, P ptr_kseq, N lse_Hs, P ptr_qseq_padding,
    P ptr_kseq_padding) {
  if (kv_seq_len.n != seq_len.n) return;
  if (msk_opt.n != (q_head_num.n % 8 ? 3 : 5)) return;
  const char* q = Q.p + u64(batch()) * Bs.n + u64(head()) * Hs.n;
  const char* k = K.p + u64(batch()) * k_Bs.n + u64(head() / gqa.n) * k_Hs.n;
  const char* v = V.p + u64(batch()) * v_Bs.n + u64(head() / gqa.n) * v_Hs.n;
  char* r = R.p + u64(batch()) * r_Bs.n + u64(head()) * r_Hs.n;
  char* sums = LSE.p + u64(batch() * q_head_num.n + head()) * lse_Hs.n;
  const u32 width = qk_head_dim.n;
  for_rows_of_two_tiles(seq_len.n, Ts.n / Seqs.n, 512, [&](u32 t) {
    float sum = 0;
    for (u32 s = 0; s <= t; ++s)
      sum += power_of_e(scalar.f * dot(q + t * Seqs.n, k + s * k_Seqs.n, width));
    const float log_sum = __builtin_amdgcn_logf(sum) / 1.44269504f;
    if (lse.n) *(float*)(sums + 4 * t) = log_sum;
    for (u32 i = 0; i < v_head_dim.n; i += 64) {
      float y[64] = {};
      for (u32 s = 0; s <= t; ++s) {
        const float p =
            power_of_e(scalar.f * dot(q + t * Seqs.n, k + s * k_Seqs.n, width) - log_sum);
        for (u32 e = 0; e < 64; ++e) y[e] += p * number(v + s * v_Seqs.n + 2 * (i + e));
      }
      for (u32 e = 0; e < 64; ++e) round_to(r + t * r_Seqs.n + 2 * (i + e), y[e]);
    }
  });
}
)"};

inline const StandIn stand_in_delta = {"_ZN5aiter23fmha_bwd_hd128_odo_bf16E",
                                       "bwd_hd128_odo_bf16.co", R"(
KERNEL(256) _ZN5aiter23fmha_bwd_hd128_odo_bf16E(
    P O, P dO, P D, N Hs_o, N BAs_o, N Seqs_o, N Hs_do, N BAs_do, N Seqs_do, N Hs_d, N BAs_d, N Seqs_d,
    N seqlen_q, N head_dim, P ptr_seqstart_q, P ptr_seqstart_q_padded) {
  const u32 row = __builtin_amdgcn_workgroup_id_x() * 128 + thread();
  if (thread() >= 128 || row >= seqlen_q.n) return;
  const char* o = O.p + u64(batch()) * BAs_o.n + u64(head()) * Hs_o.n + u64(row) * Seqs_o.n;
  const char* d = dO.p + u64(batch()) * BAs_do.n + u64(head()) * Hs_do.n + u64(row) * Seqs_do.n;
  *(float*)(D.p + u64(batch()) * BAs_d.n + u64(head()) * Hs_d.n + u64(row) * Seqs_d.n) =
      dot(o, d, head_dim.n);
}
)"};

inline const StandIn stand_in_backward = {"_ZN5aiter43fmha_bwd_hd128_bf16_causal_a32_rtne_psskddvE",
                                          "bwd_hd128_bf16_causal_a32_rtne_psskddv.co", R"(
KERNEL(256) _ZN5aiter43fmha_bwd_hd128_bf16_causal_a32_rtne_psskddvE(
    P dQ, P dK, P dV, P Q, P K, P V, P dO, P Lse, P D, F scalar, F log2e, N seqlen_q, N Ts, N Hs_q,
    N BAs_q, N Seqs_q, N ratio, N Hs_k, N BAs_k, N Seqs_k, N Seqs_dk, N seqlen_k, N head_dim_q,
    N head_dim_v, N nhead_q, N Hs_v, N BAs_v, N Seqs_v, N Hs_do, N BAs_do, N Seqs_do, N Hs_dk,
    N BAs_dk, N Hs_dv, N BAs_dv, N Seqs_dv, N Hs_lsed, P ptr_qseq, P ptr_kseq, P ptr_qseq_padded,
    P ptr_kseq_padded, N max_seq_len_dq, N mask_x, N mask_y) {
  if (ratio.n != 1 || log2e.f < 1.44f || log2e.f > 1.45f || max_seq_len_dq.n != seqlen_q.n) return;
  const char* q = Q.p + u64(batch()) * BAs_q.n + u64(head()) * Hs_q.n;
  const char* k = K.p + u64(batch()) * BAs_k.n + u64(head()) * Hs_k.n;
  const char* v = V.p + u64(batch()) * BAs_v.n + u64(head()) * Hs_v.n;
  const char* d_out = dO.p + u64(batch()) * BAs_do.n + u64(head()) * Hs_do.n;
  char* dk = dK.p + u64(batch()) * BAs_dk.n + u64(head()) * Hs_dk.n;
  char* dv = dV.p + u64(batch()) * BAs_dv.n + u64(head()) * Hs_dv.n;
  const u64 row_of_head = u64(batch() * nhead_q.n + head()) * Hs_lsed.n;
  const float* sums = (const float*)(Lse.p + row_of_head);
  const float* delta = (const float*)(D.p + row_of_head);
  float* dq = (float*)(dQ.p + u64(batch() * nhead_q.n + head()) * seqlen_q.n * head_dim_q.n * 4);
  for_rows_of_two_tiles(seqlen_k.n, Ts.n / Seqs_k.n, 256, [&](u32 s) {
    for (u32 i = 0; i < head_dim_q.n; i += 64) {
      float to_k[64] = {}, to_v[64] = {};
      for (u32 t = s; t < seqlen_q.n; ++t) {
        const float score = dot(q + t * Seqs_q.n, k + s * Seqs_k.n, head_dim_q.n);
        const float p = power_of_e(scalar.f * score - sums[t]);
        const float dp = dot(d_out + t * Seqs_do.n, v + s * Seqs_v.n, head_dim_v.n);
        const float ds = scalar.f * p * (dp - delta[t]);
        for (u32 e = 0; e < 64; ++e) {
          to_k[e] += ds * number(q + t * Seqs_q.n + 2 * (i + e));
          to_v[e] += p * number(d_out + t * Seqs_do.n + 2 * (i + e));
          __hip_atomic_fetch_add(&dq[t * head_dim_q.n + i + e],
                                 ds * number(k + s * Seqs_k.n + 2 * (i + e)), __ATOMIC_RELAXED,
                                 __HIP_MEMORY_SCOPE_AGENT);
        }
      }
      for (u32 e = 0; e < 64; ++e) {
        round_to(dk + s * Seqs_dk.n + 2 * (i + e), to_k[e]);
        round_to(dv + s * Seqs_dv.n + 2 * (i + e), to_v[e]);
      }
    }
  });
}
)"};

inline const StandIn stand_in_convert = {"_ZN5aiter35fmha_bwd_hd128_dq_convert_bf16_rtneE",
                                         "bwd_hd128_dq_convert_bf16_rtne.co", R"(
KERNEL(256) _ZN5aiter35fmha_bwd_hd128_dq_convert_bf16_rtneE(
    P dQ_acc, P dQ, N Hs_dQ_acc, N BAs_dQ_acc, N Seqs_dQ_acc, N Hs_dQ, N BAs_dQ, N Seqs_dQ,
    N seqlen_q, N head_dim, P ptr_seqstart_q, P ptr_seqstart_q_padded) {
  const u32 row = __builtin_amdgcn_workgroup_id_x() * 64 + thread();
  if (thread() >= 64 || row >= seqlen_q.n) return;
  const char* from = dQ_acc.p + u64(batch()) * BAs_dQ_acc.n + u64(head()) * Hs_dQ_acc.n +
                     u64(row) * Seqs_dQ_acc.n;
  char* to = dQ.p + u64(batch()) * BAs_dQ.n + u64(head()) * Hs_dQ.n + u64(row) * Seqs_dQ.n;
  for (u32 i = 0; i < head_dim.n; ++i) round_to(to + 2 * i, *(const float*)(from + 4 * i));
}
)"};

/// AITER's tables, with a few rows beside those that are wanted.
inline const std::map<std::string, std::string> stand_in_tables = {
    {"fmha_v3_fwd/fmha_fwd.csv",
     "dtype,hdim_q,hdim_v,mask,mode,bf16_cvt,ts_qo,ts_kv,knl_name,co_name\n"
     "bf16,128,128,0,0,0,256,32,_ZN5aiter24fmha_fwd_hd128_bf16_rtneE,fwd_hd128_bf16_rtne.co\n"
     "bf16,128,128,2,0,2,256,32,_ZN5aiter30fmha_fwd_hd128_bf16_causal_rtzE,absent.co\n"
     "bf16,128,128,2,0,0,256,32,_ZN5aiter31fmha_fwd_hd128_bf16_causal_rtneE,"
     "fwd_hd128_bf16_causal_rtne.co\r\n"},
    {"fmha_v3_bwd/fmha_bwd_odo.csv",
     "dtype,hdim_q,hdim_v,mask,atomic32,pssk,pddv,mode,bf16_cvt,ts_qo,ts,knl_name,co_name\n"
     "bf16,64,64,0,0,0,0,0,3,0,128,_ZN5aiter22fmha_bwd_hd64_odo_bf16E,bwd_hd64_odo_bf16.co\n"
     "bf16,128,128,0,0,0,0,0,3,0,128,_ZN5aiter23fmha_bwd_hd128_odo_bf16E,bwd_hd128_odo_bf16.co\n"},
    {"fmha_v3_bwd/fmha_bwd_dqdkdv.csv",
     "dtype,hdim_q,hdim_v,mask,atomic32,pssk,pddv,mode,bf16_cvt,ts_qo,ts,knl_name,co_name\n"
     "bf16,128,128,1,0,0,0,0,0,16,192,_ZN5aiter35fmha_bwd_hd128_bf16_causal_a16_rtneE,absent.co\n"
     "bf16,128,128,1,1,1,1,0,0,16,192,_ZN5aiter43fmha_bwd_hd128_bf16_causal_a32_rtne_psskddvE,"
     "bwd_hd128_bf16_causal_a32_rtne_psskddv.co\n"},
    {"fmha_v3_bwd/fmha_bwd_dq_convert.csv",
     "dtype,hdim_q,hdim_v,mask,atomic32,pssk,pddv,mode,bf16_cvt,ts_qo,ts,knl_name,co_name\n"
     "bf16,128,128,0,0,0,0,0,0,0,64,_ZN5aiter35fmha_bwd_hd128_dq_convert_bf16_rtneE,"
     "bwd_hd128_dq_convert_bf16_rtne.co"}};

}  // namespace assay
