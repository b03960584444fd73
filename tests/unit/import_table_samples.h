// Small results of programs that print a short table, for import_samples.h.
#pragma once

#include <string_view>

namespace assay {

inline constexpr std::string_view cuda_bandwidth_sample =
    R"text([CUDA Bandwidth Test] - Starting...
 Device 0: Tesla K80
 Quick Mode

 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)	Bandwidth(GB/s)
   32000000			25.5

 Device to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)	Bandwidth(GB/s)
   32000000			155.5

Result = PASS
bandwidthTest-D2H-Pinned, Bandwidth = 9580.5 MB/s, Time = 0.00334 s, Size = 33554432 bytes, NumDevsUsed = 1
)text";

inline constexpr std::string_view genai_perf_sample = R"text(          LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃            Statistic ┃           avg ┃           p99 ┃           p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ Request latency (ns) │ 4,110,500,000 │ 5,217,500,000 │ 4,626,500,000 │
│     Num output token │           331 │           412 │           376 │
└──────────────────────┴───────────────┴───────────────┴───────────────┘
Output token throughput (per sec): 80.25
Request throughput (per sec): 0.25
)text";

inline constexpr std::string_view google_csv_sample = R"text(2020-06-09 17:58:03
Running ./bench
Run on (48 X 3000 MHz CPU s)
name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message,"invtime"
"BM_Copy/64",1000,12.5,12.25,ns,5.12e+09,,,,,20.125
"BM_Copy/64_cv",2,0.05,0.05,ns,0.05,,,,,
"BM_Bad",0,0,0,us,,,,true,"no file",
)text";

inline constexpr std::string_view hip_bus_sample =
    R"text(Device:Device 738c Mem=32.0GB #CUs=120 Freq=1502Mhz  MallocMode=pinned
                   test        atts        units        median  mean    stddev  min     max
   H2D_Bandwidth_pinned      +064By       GB/sec        0.0000  0.0000  0.0000  0.0000  0.0000
   H2D_Bandwidth_pinned      1024kB       GB/sec        16.5000 16.2500 0.1250  16.0000 16.7500
         H2D_Timepinned      +064By           ms        0.0245  0.0250  0.0125  0.0225  0.0750
)text";

inline constexpr std::string_view inferencex_sample = R"text({
  "hw": "mi355x", "conc": 32, "image": "vllm:1", "model": "m/K", "framework": "vllm", "precision": "int4",
  "isl": 8192, "osl": 1024, "tp": 8, "tput_per_gpu": 157.5, "output_tput_per_gpu": 17.5,
  "mean_ttft": 2.5, "p99.9_ttft": 15.5, "mean_intvty": 4.5, "mean_e2el": 209.5
}
)text";

inline constexpr std::string_view llama_batched_sample =
    R"text(llama_batched_bench: n_kv_max = 262144, n_batch = 2048, n_ubatch = 1024, flash_attn = -1

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|  4096 |    128 |    2 |   8448 |   16.500 |   496.50 |   20.250 |    12.64 |   36.750 |   229.88 |
)text";

inline constexpr std::string_view llama_compare_sample =
    R"text(| GPU      | Model         |   Microbatch size | Test         |   t/s master |   t/s 56ac96f |   Speedup |
| :------- | :------------ | ----------------: | :----------- | -----------: | ------------: | --------: |
| MI100    | gemma 2B Q4_0 |                 1 | pp512@d16384 |       231.50 |        233.25 |      1.01 |
)text";

inline constexpr std::string_view miopen_sample =
    R"text(MIOpenDriver: conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1
MIOpen Forward Conv. Algorithm: 0
GPU Kernel Time Forward Conv. Elapsed: 0.056875 ms (average)
stats: name, n, c, ho, wo, x, y, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 1, 3, 224, 224, 3, 3, 64,  173408256, 609024, 12845056, 3049, 237, 0.056875
Forward Convolution Verifies on CPU and GPU (2.19793e-08)
)text";

inline constexpr std::string_view mscclpp_sample = R"text(#
# Initializing MSCCL++
# Setting up the connection in MSCCL++
#
#                                    in-place                       out-of-place          
#       size         count     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       
  1073741824      33554432                                    7186.5  149.50  130.75      0
  2147483648      67108864  14000.5  153.50  134.25      2
# Out of bounds values : 0 OK
)text";

inline constexpr std::string_view gpu_copy_sample = R"text(cpu_to_gpu0_by_sm_under_numa0 26.25
gpu0_to_gpu1_write_by_dma 279.25
gpu0_and_gpu1_read_by_sm 460.75
)text";

inline constexpr std::string_view gpu_stream_sample = R"text(STREAM Benchmark
Buffer size(bytes): 4294967296

Device 0: "NVIDIA Graphics Device"  152 SMs(10.0)  Memory: 4000MHz x 8192-bit = 8192 GB/s PEAK   ECC is ON
STREAM_COPY_double_gpu_0_buffer_4294967296_block_128    6711.75 81.75
STREAM_TRIAD_double_gpu_0_buffer_4294967296_block_1024  6730.50 82.25
)text";

inline constexpr std::string_view ucc_sample = R"text(Collective:             Alltoall
Memory type:            cuda
Datatype:               float32
Reduction:              N/A
Inplace:                0
Warmup:
  small                 10

       Count        Size                Time, us                           Bandwidth, GB/s
                                 avg         min         max         avg         min         max
       65536      262144       76.50       72.50       82.25       24.00       25.25       22.50
)text";

}  // namespace assay
