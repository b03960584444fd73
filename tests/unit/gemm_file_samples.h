// Files of TunableOp and hipBLASLt and logs, as their formats were described and quoted.
#pragma once

#include <string_view>

namespace assay::gemm_files {

// PyTorch 2.2's README: solutions are bare numbers.
inline constexpr std::string_view results_of_2_2 =
    "Validator,PT_VERSION,2.2.0\n"
    "Validator,ROCM_VERSION,6.0.0.0-12969-1544e39\n"
    "Validator,HIPBLASLT_VERSION,0.6.0-a9c5cc7\n"
    "Validator,ROCBLAS_VERSION,4.0.0-72e57364-dirty\n"
    "GemmTunableOp_float_NT,nt_25088_4096_64,1219,1.262\n"
    "GemmTunableOp_float_NT,nt_4096_4096_64,1216,0.033\n";

inline constexpr std::string_view results_of_2_4 =
    "Validator,PT_VERSION,2.4.0\n"
    "Validator,ROCM_VERSION,6.1.0.0-82-5fabb4c\n"
    "Validator,HIPBLASLT_VERSION,0.7.0-1549b021\n"
    "Validator,GCN_ARCH_NAME,gfx942:sramecc+:xnack-\n"
    "Validator,ROCBLAS_VERSION,4.1.0-cefa4a9b-dirty\n"
    "GemmTunableOp_float_TN,tn_200_100_20,Gemm_Rocblas_32323,0.00669595\n"
    "GemmTunableOp_float_NN,nn_1024_512_2048,Gemm_Hipblaslt_NN_52565,0.0653662\n"
    "GemmTunableOp_BFloat16_TN,tn_8192_2_1024,Default,0.0173723\n";

inline constexpr std::string_view results_of_2_9 =
    "Validator,PT_VERSION,2.9.1\n"
    "Validator,HIP_VERSION,702\n"
    "Validator,HIPBLASLT_VERSION,100202-dabb6df2b9\n"
    "Validator,GCN_ARCH_NAME,gfx942:sramecc+:xnack-\n"
    "Validator,ROCBLAS_VERSION,5.2.0.dabb6df2b9\n"
    "GemmTunableOp_BFloat16_TN,tn_8192_1_4096_ld_4096_4096_8192,Gemm_Rocblas_621284994,0.0196817\n"
    "GemmTunableOp_BFloat16_TN,tn_8192_3_4096_ld_4096_4096_8192,Gemm_Rocblas_-72,0.0196817\n"
    "GemmAndBiasTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768,Gemm_Hipblaslt_220580,0.0103395\n"
    "GemmStridedBatchedTunableOp_float_NN,nn_64_128_128_B_96_ld_64_128_64,Gemm_Hipblaslt_9,0.02\n"
    "ScaledGemmTunableOp_Float8_e4m3fnuz_Float8_e4m3fnuz_BFloat16_TN,"
    "tn_64_12288_2048_ld_2048_2048_64_rw_0_bias_None,Gemm_Hipblaslt_7,0.5\n"
    "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e5m2_Half_TN,"
    "tn_64_12288_2048_ld_2048_2048_64_rw_0_bias_BFloat16,Default,0.5,BLAS_PARAMS: - { function: "
    "matmul, M: 64 }\n"
    "GemmTunableOp_tf32_NT,nt_64_64_64_ld_64_64_64,Default\n";

inline constexpr std::string_view untuned =
    "GemmAndBiasTunableOp_Half_TN,tn_768_1024_768_ld_768_768_768\n"
    "GemmStridedBatchedTunableOp_float_TN,tn_128_128_64_B_96_ld_64_64_128\n"
    "GemmTunableOp_c10::complex<float>_NN,nn_64_64_64_ld_64_64_64\n"
    "GemmTunableOp_BFloat16_TN,tn_4096_*_4096_ld_4096_4096_4096\n"
    "ScaledGemmTunableOp_Float8_e4m3fnuz_Float8_e4m3fnuz_BFloat16_TN,"
    "tn_64_12288_2048_ld_2048_2048_64_rw_1_bias_None,BLAS_PARAMS: - { function: matmul, M: 64 }\n";

// The oldest readers' ten columns.
inline constexpr std::string_view override_ten =
    "N,N,1,1024,512,1024,f16_r,f16_r,f32_r,56537\n"
    "T,N,4,128,128,64,bf16_r,f32_r,f32_r,21\n";

// hipblaslt-bench of ROCm 6.4 and 7: 37 columns.
inline constexpr std::string_view override_bench =
    "Git Version: dabb6df2b9\n"
    "    transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,"
    "stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,"
    "amaxD,activation_type,bias_vector,bias_type,rotating_buffer,hipblaslt-Gflops,hipblaslt-GB/s,"
    "us,solution_index,solution_name,kernel_name\n"
    "    N,N,0,1,1024,512,1024,1,1024,1048576,1,1024,524288,1024,524288,1024,524288,f16_r,f16_r,"
    "f16_r,f16_r,f32_r,0,0,0,0,0,none,0,f32_r,512,66613.8,363.509,16.1189,56537,"
    "Cijk_Ailk_Bljk_HHS,Cijk_Ailk_Bljk_HHS\n";

// Columns by their names, as a newer hipblaslt-bench writes them, without the kernel's name.
inline constexpr std::string_view override_named =
    "Git Version: fa9cdd18\n"
    "    transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,"
    "stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,scaleA,scaleB,scaleC,scaleD,"
    "amaxD,swizzle_a,swizzle_b,activation_type,bias_vector,bias_type,aux_type,rotating_buffer,"
    "flush,use_gpu_timer,hipblaslt-Gflops,hipblaslt-GB/s,us,solution_index,gcnArchName,CUs\n"
    "    T,N,0,1,32,32768,2880,1,2880,92160,0,2880,94371840,32,1048576,32,1048576,bf16_r,bf16_r,"
    "f32_r,f32_r,f32_r,0,0,0,0,0,0,0,gelu,1,f32_r,f32_r,512,1,0,182699,5440.59,33.0588,24641,"
    "gfx950:sramecc+:xnack-,256\n";

inline constexpr std::string_view hipblaslt_log =
    "INFO: loading a model\n"
    "hipblaslt-bench --api_method c -m 1024 -n 512 -k 256 --lda 256 --ldb 256 --ldc 1024 --ldd "
    "1024 "
    " --stride_a 0 --stride_b 0 --stride_c 0 --stride_d 0  --alpha 1.000000 --beta 0.000000 "
    "--transA T --transB N --batch_count 1  --a_type bf16_r --b_type bf16_r --c_type bf16_r "
    "--d_type bf16_r --scale_type f32_r --bias_type f32_r   --compute_type f32_r --algo_method "
    "index --solution_index 56073\n"
    "[rank0] hipblaslt-bench --api_method c -m 1024 -n 512 -k 256 --lda 256 --ldb 256 --ldc 1024 "
    "--ldd 1024  --alpha 1.000000 --beta 0.000000 --transA T --transB N --batch_count 1  --a_type "
    "bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --compute_type f32_r\n"
    "hipblaslt-bench --api_method c -m 64 -n 32 -k 128 --lda 128 --ldb 128 --ldc 64 --ldd 64 --lde "
    "64 --alpha 1 --beta 0 --transA T --transB N --batch_count 1 --scaleA s --scaleB s "
    "--bias_vector --bias_source d --use_e --activation_type gelu --a_type f8_fnuz_r --b_type "
    "f8_fnuz_r --c_type bf16_r --d_type bf16_r --scale_type f32_r --bias_type bf16_r "
    "--compute_type "
    "f32_r\n"
    "hipblaslt-bench --api_method c -m 64 -n 32 -k 128 --transA T --transB N --activation_type "
    "swish --a_type f16_r --b_type f16_r --c_type f16_r --d_type f16_r --compute_type f32_r\n";

inline constexpr std::string_view rocblas_log =
    "./rocblas-bench -f gemm_ex --transposeA N --transposeB T -m 256 -n 128 -k 64 --alpha 1 "
    "--a_type f16_r --lda 256 --b_type f16_r --ldb 128 --beta 0 --c_type f16_r --ldc 256 --d_type "
    "f16_r --ldd 256 --compute_type f32_r --algo 0 --solution_index 0 --flags 0\n"
    "- { rocblas_function: \"rocblas_gemm_ex\", atomics_mode: atomics_allowed, a_type: \"f16_r\", "
    "b_type: \"f16_r\", c_type: \"f16_r\", d_type: \"f16_r\", compute_type: \"f32_r\", transA: "
    "'N', "
    "transB: 'T', M: 256, N: 128, K: 64, alpha: 1.0, lda: 256, beta: 0.0, ldb: 128, ldc: 256, ldd: "
    "256, batch_count: 1, algo: 0, solution_index: 0, flags: none, call_count: 136 }\n"
    "- { rocblas_function: \"rocblas_sgemm_strided_batched\", atomics_mode: atomics_allowed, "
    "transA: 'T', transB: 'N', M: 8, N: 4, K: 16, alpha: 1.0, lda: 16, stride_a: 128, ldb: 16, "
    "stride_b: 64, beta: 0.0, ldc: 8, stride_c: 32, batch_count: 12, call_count: 7 }\n"
    "- { rocblas_function: \"rocblas_saxpy\", N: 5, alpha: 1.0, call_count: 3 }\n";

}  // namespace assay::gemm_files
