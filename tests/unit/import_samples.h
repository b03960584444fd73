// A small result of every format that has an importer, in its newest version unless said otherwise.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/import_table_samples.h"

namespace assay {

inline constexpr std::string_view nccl_sample =
    R"text(# nccl-tests version 2.19.6 nccl-headers=22903 nccl-library=22903
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4242 on      node1 device  0 [0000:0c:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   4242 on      node1 device  1 [0000:22:00] NVIDIA H100 80GB HBM3
NCCL version 2.29.3+cuda13.1
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
        1024           256     float     sum      -1    10.50    0.10    0.10       0    10.25    0.10    0.10       0
        2048           512     float     sum      -1    11.00    0.19    0.19       0    10.75    0.19    0.19       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.145
#
# Collective test concluded: all_reduce_perf
)text";

inline constexpr std::string_view nccl_json_sample =
    R"text({"version":3,"start_time":"2026-07-01 10:20:30",
"args":["\/opt\/bin\/all_gather_perf","-J","out.json"],"env":["SECRET_TOKEN=hunter2","PATH=\/bin"],"nccl_version":22903,
"config":{"nthreads":1,"ngpus":2,"warmup_iters":1,"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,
"blocking_collectives":"false","devices":[{"rank":0,"group":0,"pid":1,"hostname":"n1","device":0,"device_info":"NVIDIA H100"},
{"rank":1,"group":0,"pid":1,"hostname":"n1","device":1,"device_info":"NVIDIA H100"}]},
"results":[{"size":1048576,"count":131072,"type":"float","redop":"none","root":"    -1",
"out_of_place":{"time":57.320000,"alg_bw":18.290000,"bus_bw":9.150000,"nwrong":0.000000},
"out_of_place_per_iter":{"min_us":50.100000,"max_us":61.000000,"p99_us":60.900000,"cv_pct":2.500000},
"in_place":{"time":58.000000,"alg_bw":18.080000,"bus_bw":9.040000,"nwrong":3.000000}}],
"out_of_bounds":{"count":1,"okay":"false"},"average_bus_bandwidth":{"bandwidth":9.1,"okay":"unchecked"},"errors":[]}
)text";

inline constexpr std::string_view rccl_json_sample = R"text([
{"numCycle":1,"name":"AllReduce","nodes":2,"ranks":16,"ranksPerNode":8,"gpusPerRank":1,"size":1073741824,"type":"float","redop":"sum","inPlace":0,"time":5753.0,"algBw":186.64,"busBw":349.95,"wrong":"0"},
{"numCycle":1,"name":"AllReduce","nodes":2,"ranks":16,"ranksPerNode":8,"gpusPerRank":1,"size":1073741824,"type":"float","redop":"sum","inPlace":1,"time":5754.5,"algBw":186.59,"busBw":349.86,"wrong":"N/A"}
]
)text";

inline constexpr std::string_view rccl_csv_sample =
    R"text(numCycle,name,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,busBw,wrong
1,AllToAll,2,16,8,1,1048576,bfloat16,none,0,57.32,18.29,17.15,0
1,AllToAll,2,16,8,1,1048576,bfloat16,none,1,58.00,18.08,16.95,N/A
)text";

inline constexpr std::string_view perftest_sample =
    R"text(---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 Number of qps   : 4            Transport type : IB
 TX depth        : 128
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
 65536      20000            23330.56            21167.79		     0.338685
 131072     20000            0.00                21443.14		     0.171545
---------------------------------------------------------------------------------------
)text";

inline constexpr std::string_view perftest_json_sample = R"text({
"test_info": {"test": "RDMA_Write Bidirectional BW Test", "Dual_port": "OFF", "Device": "mlx5_3", "Number_of_qps": 2, "TX_depth": 128, "Mtu": 4096},
"results": {"MsgSize": 65536, "n_iterations": 10000, "BW_peak": 141.0, "BW_average": 140.88, "MsgRate": 0.268711}
}
)text";

inline constexpr std::string_view transferbench_sample =
    R"text(TransferBench v1.66.02 (with NIC support)
NUM_ITERATIONS       =           10 : Running 10  timed iteration(s)
Test 1:
┌──────────────────────────┬──────────────┬───────────┬─────────────────┬───────────────────────┐
│ Executor: Rank 0 GPU 00  │ 90.123 GB/s  │ 0.745 ms  │ 67108864 bytes  │ 91.000 GB/s (sum)     │
│      Transfer 00         │ 45.500 GB/s  │ 0.737 ms  │ 33554432 bytes  │ F0 -> G000:008 -> F1  │
│      Transfer 01         │ 45.500 GB/s  │ 0.737 ms  │ 33554432 bytes  │ F0 -> G000:008 -> F2  │
│ Aggregate (CPU)          │ 80.000 GB/s  │ 0.839 ms  │ 67108864 bytes  │ Overhead: -0.010 ms   │
└──────────────────────────┴──────────────┴───────────┴─────────────────┴───────────────────────┘
Bytes Per Direction 67108864
Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: GFX)
 SRC+EXE\DST    CPU 00    GPU 00    GPU 01
  CPU 00  ->     24.37     38.50     38.40
  GPU 00  ->     45.20   1570.10     47.30
)text";

inline constexpr std::string_view nvbandwidth_sample = R"text(nvbandwidth Version: v0.8
CUDA Runtime Version: 12080
Driver Version: 570.86
Device 0: NVIDIA H100 80GB HBM3 (00000000:19:00)

Running device_to_device_bidirectional_memcpy_read_ce.
memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)
           0         1
 0       N/A    180.90
 1    181.10       N/A

SUM device_to_device_bidirectional_memcpy_read_ce_read1 362.00
MIN device_to_device_bidirectional_memcpy_read_ce_read1 180.90
Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    700.10    701.20

SUM host_device_latency_sm 1401.30
Running multinode_device_to_device_memcpy_read_ce.
Waived: 
)text";

inline constexpr std::string_view nvbandwidth_json_sample =
    R"text({"nvbandwidth":{"CUDA Runtime Version":12080,"Driver Version":"570.86","GPU Device list":["0: NVIDIA H100 80GB HBM3 (00000000:19:00): (n1)"],"git_version":"v0.8","version":"v0.8","testcases":[
{"name":"device_to_device_memcpy_read_ce","status":"Passed","bandwidth_description":"memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)","bandwidth_matrix":[["N/A","369.36"],["369.40","N/A"]],"sum":738.76,"min":369.36,"max":369.4,"average":369.38},
{"name":"multinode_bisect","status":"Waived"},{"name":"device_local_copy","status":"Error"}]
}
}
)text";

inline constexpr std::string_view rocm_sample = R"text(         RocmBandwidthTest Version: 2.6.0
         Launch Command is: rocm-bandwidth-test -A
Device: 0,  AMD EPYC 9534
Device: 2,  AMD Instinct MI300X,  GPU-c5f7,  05:0.0
          Inter-Device Access
          D/D       0         1
          0         1         1
          1         1         1
          Bidirectional copy peak bandwidth GB/s
          D/D       0         1
          0         N/A       55.123
          1         55.123    N/A
)text";

inline constexpr std::string_view babelstream_sample = R"text(BabelStream
Version: 5.0
Implementation: HIP
Running all 5 kernels 100 times
Precision: float
Array size: 1073.7 MB (=1.1 GB)
Total size: 3221.2 MB (=3.2 GB)
Using HIP device AMD Instinct MI300X
Driver: 60342131
Function    GB/s        Min (sec)   Max         Average     
Copy        4012.345    0.00054     0.00061     0.00055     
Triad       3990.001    0.00081     0.00084     0.00082     
)text";

inline constexpr std::string_view babelstream_csv_sample =
    R"text(function,num_times,n_elements,sizeof,max_GiB_per_sec,min_runtime,max_runtime,avg_runtime
Copy,100,134217728,8,3725.29,0.00054,0.00061,0.00055
Dot,100,134217728,8,3500.5,0.00057,0.00062,0.00058
)text";

inline constexpr std::string_view vllm_sample =
    R"text({"date":"20260301-101112","endpoint_type":"openai-chat","backend":"openai-chat","label":null,"model_id":"m","tokenizer_id":"m","num_prompts":3,"request_rate":"inf","burstiness":1.0,"max_concurrency":8,"duration":2.0,"completed":3,"failed":0,"total_input_tokens":30,"total_output_tokens":7,"request_throughput":1.5,"request_goodput":null,"output_throughput":3.5,"total_token_throughput":18.5,"input_lens":[10,10,10],"output_lens":[4,3,0],"ttfts":[0.2,0.4,0.0],"itls":[[0.1,0.1,0.4],[0.1,0.1],[]],"errors":["","",""],"mean_ttft_ms":200.0,"median_ttft_ms":200.0,"std_ttft_ms":163.29931618554522,"p99_ttft_ms":396.0,"p99.9_ttft_ms":399.6,"mean_itl_ms":160.0,"mean_e2el_ms":500.0}
{"date":"20260301-101212","endpoint_type":"openai-chat","model_id":"m","num_prompts":10,"request_rate":2.5,"burstiness":2.0,"max_concurrency":null,"duration":4.0,"completed":9,"total_input_tokens":90,"total_output_tokens":70,"request_throughput":2.25,"output_throughput":17.5,"mean_ttft_ms":12.5}
)text";

inline constexpr std::string_view vllm_throughput_sample =
    R"text({"elapsed_time": 227.28808270697482, "num_requests": 256, "total_num_tokens": 557056, "requests_per_second": 1.1263239011525354, "tokens_per_second": 2450.880808907917, "input": 128, "ouput": 2048}
)text";

inline constexpr std::string_view vllm_latency_sample =
    R"text({"avg_latency": 2.0, "latencies": [1.0, 3.0], "percentiles": {"10": 1.2, "50": 2.0, "99": 2.98}}
)text";

inline constexpr std::string_view sglang_sample =
    R"text({"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": 16, "sharegpt_output_len": null, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 0.0, "duration": 10.5, "completed": 100, "total_input_tokens": 51200, "total_output_tokens": 6400, "total_output_tokens_retokenized": 6390, "request_throughput": 9.52, "input_throughput": 4876.2, "output_throughput": 609.5, "mean_e2e_latency_ms": 1500.5, "median_e2e_latency_ms": 1490.0, "std_e2e_latency_ms": 100.0, "mean_ttft_ms": 80.25, "median_ttft_ms": 75.0, "std_ttft_ms": 20.0, "p99_ttft_ms": 150.0, "mean_tpot_ms": 11.2, "mean_itl_ms": 11.1, "p95_itl_ms": 15.0, "concurrency": 14.3, "accept_length": NaN}
{"backend": "sglang", "dataset_name": "random", "request_rate": 4, "max_concurrency": null, "random_input_len": 1024, "random_output_len": 128, "random_range_ratio": 0.0, "duration": 25.0, "completed": 0, "total_input_tokens": 0, "total_output_tokens": 0, "total_output_tokens_retokenized": 0, "request_throughput": 0.0, "output_throughput": 0.0, "mean_e2e_latency_ms": 0.0, "mean_ttft_ms": 0.0}
)text";

inline constexpr std::string_view guidellm_sample =
    R"text({"metadata":{"version":2,"guidellm_version":"0.5.0","platform":"Linux-6.8"},"benchmarks":[
{"type_":"generative_benchmark","config":{"strategy":{"type_":"constant","rate":5.0}},"scheduler_metrics":{"start_time":1767225600.0,"requests_made":{"successful":50,"incomplete":1,"errored":2,"total":53}},
"metrics":{"request_totals":{"successful":50,"incomplete":1,"errored":2,"total":53},
"requests_per_second":{"successful":{"mean":4.9,"median":5.0,"count":50}},"output_tokens_per_second":{"successful":{"mean":612.5,"count":50}},
"request_latency":{"successful":{"mean":1.25,"median":1.2,"std_dev":0.1,"count":50,"percentiles":{"p90":1.4,"p99":1.6}}},
"time_to_first_token_ms":{"successful":{"mean":45.5,"median":44.0,"std_dev":3.0,"count":50,"percentiles":{"p99":55.0}}},
"output_token_count":{"successful":{"mean":125.0,"total_sum":6250,"count":50}}}}]}
)text";

inline constexpr std::string_view aiperf_sample =
    R"text({"request_throughput":{"unit":"requests/sec","avg":9.5},"output_token_throughput":{"unit":"tokens/sec","avg":1200.5},
"request_latency":{"unit":"ms","avg":1000.5,"p1":900.0,"p50":990.0,"p90":1100.0,"p99":1200.0,"min":890.0,"max":1210.0,"std":50.0},
"time_to_first_token":{"unit":"ms","avg":80.5,"p50":79.0,"p99":120.0,"min":70.0,"max":121.0,"std":9.5},
"output_sequence_length":{"unit":"tokens","avg":126.0,"p50":128.0,"std":2.0},"request_count":{"unit":"requests","avg":100.0},
"error_request_count":{"unit":"requests","avg":2.0},
"input_config":{"endpoint":{"model_names":["m"],"type":"chat"},"loadgen":{"concurrency":10,"request_count":100}},
"was_cancelled":false,"error_summary":[],"start_time":"2026-01-01T00:00:00.000000","end_time":"2026-01-01T00:00:11.000000"}
)text";

inline constexpr std::string_view llama_sample = R"text([
  {"build_commit":"8cf427ff","build_number":5163,"cpu_info":"AMD EPYC","gpu_info":"AMD Instinct MI300X","backends":"ROCm","model_filename":"m.gguf","model_type":"llama 7B Q4_0","n_batch":2048,"n_ubatch":512,"n_threads":8,"type_k":"f16","type_v":"f16","n_gpu_layers":99,"split_mode":"layer","flash_attn":false,"n_prompt":512,"n_gen":0,"n_depth":0,"test_time":"2026-01-02T03:04:05Z","avg_ns":68000000,"stddev_ns":100000,"avg_ts":7529.411765,"stddev_ts":11.000000,"samples_ns":[68000000],"samples_ts":[7529.41]},
  {"build_commit":"8cf427ff","model_type":"llama 7B Q4_0","n_prompt":0,"n_gen":128,"n_depth":512,"test_time":"2026-01-02T03:04:06Z","avg_ns":1000000000,"avg_ts":128.000000,"stddev_ts":0.500000}
]
)text";

inline constexpr std::string_view llama_csv_sample =
    R"text(build_commit,build_number,cpu_info,gpu_info,backends,model_filename,model_type,n_batch,n_gen,n_prompt,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts
"8cf427ff","5163","AMD EPYC, 64 cores","NVIDIA H100","CUDA","m.gguf","llama 7B Q4_0","2048","0","512","2026-01-02T03:04:05Z","68000000","100000","7529.411765","11.000000"
)text";

inline constexpr std::string_view llama_sql_sample = R"text(CREATE TABLE IF NOT EXISTS test (
  build_commit TEXT
);

INSERT INTO test (build_commit, gpu_info, model_type, n_prompt, n_gen, avg_ns, avg_ts, stddev_ts) VALUES ('8cf427ff', 'NVIDIA H100, one', 'llama 7B Q4_0', '0', '128', '1000000000', '128.000000', '0.500000');
)text";

inline constexpr std::string_view llama_markdown_sample =
    R"text(  Device 0: NVIDIA H100, compute capability 9.0, VMM: yes
| model                          |       size |     params | backend    | ngl |          test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | ------------: | -------------------: |
| llama 7B mostly Q4_0           |   3.56 GiB |     6.74 B | CUDA       |  99 |        pp 512 |     2368.80 ± 93.24 |
| llama 7B mostly Q4_0           |   3.56 GiB |     6.74 B | CUDA       |  99 | tg128 @ d512 |      131.42 ± 0.59 |

build: 8cf427ff (5163)
)text";

inline constexpr std::string_view superbench_sample =
    R"text({"node": "node-1", "kernel-launch/event_time:0": 0.0058, "kernel-launch/event_time:1": 0.0061, "kernel-launch/return_code": 0, "rccl-bw:default/allreduce_1073741824_busbw:0": 349.9, "gpu-copy-bw:perf/0/gpu0_to_gpu1_bw": 45.2, "gpu-copy-bw:perf/return_code": 33, "monitor/gpu_temperature": null}
{"node": "node-2", "kernel-launch/event_time:0": 0.0059, "kernel-launch/return_code": 0}
)text";

inline constexpr std::string_view mad_sample =
    R"text(model,n_gpus,precision,pipeline,args,tags,docker_file,base_docker,docker_sha,docker_image,git_commit,machine_name,gpu_architecture,performance,metric,relative_change,status,build_duration,test_duration
pyt_huggingface_bert,8,fp16,pyt,--a 1,"pyt,bert",f,b,s,i,abc,host1,gfx942,1234.5,samples_per_second,,SUCCESS,1,2
pyt_vllm_llama,8,fp16,pyt,,vllm,f,b,s,i,abc,host1,gfx942,,tokens/s,,FAILURE,1,2
)text";

inline constexpr std::string_view google_sample =
    R"text({"context":{"date":"2026-01-02T03:04:05+00:00","host_name":"h","executable":"./bench","num_cpus":8,"mhz_per_cpu":3000,"cpu_scaling_enabled":false,"library_version":"v1.9.0","library_build_type":"release"},
"benchmarks":[{"name":"BM_Copy/64/threads:2","run_name":"BM_Copy/64/threads:2","run_type":"iteration","repetitions":2,"repetition_index":0,"threads":2,"iterations":1000,"real_time":12.5,"cpu_time":12.0,"time_unit":"ns","bytes_per_second":5.12e9,"hits":3.5},
{"name":"BM_Copy/64/threads:2","run_name":"BM_Copy/64/threads:2","run_type":"iteration","repetitions":2,"repetition_index":1,"threads":2,"iterations":1000,"real_time":13.5,"cpu_time":13.0,"time_unit":"ns","bytes_per_second":4.9e9},
{"name":"BM_Copy/64/threads:2_cv","run_name":"BM_Copy/64/threads:2","run_type":"aggregate","repetitions":2,"threads":2,"aggregate_name":"cv","aggregate_unit":"percentage","iterations":2,"real_time":0.05,"cpu_time":0.05,"time_unit":"ns"},
{"name":"BM_Bad","run_name":"BM_Bad","run_type":"iteration","error_occurred":true,"error_message":"no file","iterations":0,"real_time":0.0,"cpu_time":0.0,"time_unit":"us"}]}
)text";

// Written by pytest-benchmark 3.2.2 for sum(range(count)); without its options and less usual
// statistics.
inline constexpr std::string_view pytest_benchmark_sample =
    R"text({"machine_info":{"node":"node7","python_implementation":"CPython","python_version":"3.11.2"},
"commit_info":{"id":"5f3c2a1","dirty":false},"benchmarks":[
{"group":null,"name":"test_sum[10]","fullname":"test_sums.py::test_sum[10]","params":{"count":10},
"stats":{"min":1.3924982340540736e-07,"max":0.0004972988499503117,"mean":7.534235374322073e-07,
"stddev":1.569687225247431e-05,"rounds":2989,"median":1.7479978851042687e-07,"iterations":20}},
{"group":null,"name":"test_sum[1000]","fullname":"test_sums.py::test_sum[1000]","params":{"count":1000},
"stats":{"min":7.775000995025039e-06,"max":0.008093511998595204,"mean":3.711349125045935e-05,
"stddev":0.0004620496718641738,"rounds":914,"median":8.705996151547879e-06,"iterations":1}}],
"datetime":"2026-11-30T01:44:16.126743","version":"3.2.2"}
)text";

inline constexpr std::string_view nvbench_sample =
    R"text({"meta":{"argv":["./b"],"version":{"nvbench":{"string":"0.1.0"}}},"devices":[{"id":0,"name":"NVIDIA H100"}],
"benchmarks":[{"name":"copy","index":0,"axes":[],"states":[
{"name":"Device=0 T=I32 Elements=2^20","device":0,"axis_values":[{"name":"T{ct}","type":"string","value":"I32"},{"name":"Elements{io}","type":"int64","value":"1048576"}],
"summaries":[{"tag":"nv/cold/sample_size","name":"Samples","hint":"sample_size","data":[{"name":"value","type":"int64","value":"1000"}]},
{"tag":"nv/cold/time/gpu/mean","name":"GPU Time","hint":"duration","data":[{"name":"value","type":"float64","value":"6.25e-05"}]},
{"tag":"nv/cold/bw/global/bytes_per_second","name":"GlobalMem BW","hint":"byte_rate","data":[{"name":"value","type":"float64","value":"3.0e+12"}]}],"is_skipped":false},
{"name":"Device=0 T=F64","device":0,"axis_values":[{"name":"T{ct}","type":"string","value":"F64"}],"summaries":null,"is_skipped":true,"skip_reason":"not enough memory"}]}]}
)text";

inline constexpr std::string_view assay_sample =
    R"text({"schema":1,"run":"20261122T143358Z-7883","time":"2026-11-22T14:34:20.534Z","benchmark":"serving","axes":{"request_rate":"2","max_concurrency":"none","num_prompts":"40","dataset":"random","input":"1024","output":"256"},"device":{"backend":"other","ordinal":0,"name":"llama-3.1-8b","multiprocessors":0,"wave_size":1,"max_threads_per_block":1,"max_threads_per_multiprocessor":1,"ecc":false},"status":"passed","metrics":[{"name":"output_throughput","value":542.9591239561411,"unit":"tokens/s","better":"higher"},{"name":"mean_ttft","value":0.021708839724999984,"unit":"s","better":"lower","interval95":[0.01956240814348337,0.023855271306516598]},{"name":"p99_ttft","value":0.039743874720000086,"unit":"s","better":"lower","interval95":[0.02757913700000003,0.040687578]},{"name":"mean_tpot","value":0.0034218912514705885,"unit":"s","better":"lower","interval95":[0.0033688784280887503,0.003474904074852427]},{"name":"completed","value":40.0,"unit":"1","better":"neither"}],"source":{"tool":"assay load"},"notes":{"saturation":"not saturated"},"fingerprint":"cd32fc3bb3657ab1"}
)text";

inline constexpr std::string_view aiperf_csv_sample =
    R"text(Metric,avg,min,max,p99,p95,p90,p75,p50,p25
Time To First Token (ms),"1,146.25",249.50,"3,485.00","3,457.00","3,349.00","3,215.00","1,330.00",640.00,286.00
Request Latency (ms),"6,406.00","5,371.00","9,608.00","9,436.00","9,046.00","9,028.00","6,549.00","5,690.00","5,493.00"
Output Sequence Length (tokens),174.50,164.00,187.00,186.00,183.00,180.00,177.00,174.00,171.00

Metric,Value
Output Token Throughput (per sec),261.25
Request Throughput (per sec),1.50
Request Count (count),40.00

Metric,GPU,avg,min,max
GPU Power Usage (W),0,300.00,290.00,310.00
)text";

inline constexpr std::string_view gemm_bench_sample =
    R"text($ hipblaslt-bench -m 4096 -n 4096 -k 8192 --requested_solution 2
hipBLASLt version: 100200
Device ID 0 : AMD Instinct MI350X gfx950:sramecc+:xnack-
Is supported 2 / Total solutions: 2
[0]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,activation_type,bias_vector,rotating_buffer,hipblaslt-Gflops,hipblaslt-GB/s,us
    T,N,0,1,4096,4096,8192,1,8192,33554432,0,8192,33554432,4096,16777216,4096,16777216,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,none,0,512,1.25e+06,750.5,219.5
    --Solution index: 302128
[1]:transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,activation_type,bias_vector,rotating_buffer,hipblaslt-Gflops,hipblaslt-GB/s,us
    T,N,0,1,4096,4096,8192,1,8192,33554432,0,8192,33554432,4096,16777216,4096,16777216,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,none,0,512,1.5e+06,800,182.5
Winner:
transA,transB,grouped_gemm,batch_count,m,n,k,alpha,lda,stride_a,beta,ldb,stride_b,ldc,stride_c,ldd,stride_d,a_type,b_type,c_type,d_type,compute_type,activation_type,bias_vector,rotating_buffer,hipblaslt-Gflops,hipblaslt-GB/s,us
T,N,0,1,4096,4096,8192,1,8192,33554432,0,8192,33554432,4096,16777216,4096,16777216,bf16_r,bf16_r,bf16_r,bf16_r,f32_r,none,0,512,1.5e+06,800,182.5
$ rocblas-bench -f gemm -r s -m 4000 -n 4000 -k 4000 --transposeB T
transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,rocblas-Gflops,us
N,T,4000,4000,4000,1,4000,0,4000,4000, 97190.5, 1317
)text";

inline constexpr std::string_view guidellm_csv_sample =
    R"text(Run Info,Run Info,Run Info,Runtime Info,Benchmark,Timings,Timings,Request Counts,Request Counts,Request Counts,Request Latency,Request Latency,Request Latency,Request Latency,Time to First Token,Time to First Token,Server Throughput,Token Throughput
Run ID,Run Index,Backend,Metadata,Strategy,Start Time,Duration,Successful,Incomplete,Errored,Successful Sec,Successful Sec,Successful Sec,Successful Sec,Successful ms,Successful ms,Successful Requests/Sec,Successful Output Tokens/Sec
,,,,,,Sec,,,,Mean,Median,Std Dev,Percentiles,Mean,Median,Mean,Mean
r1,0,"{""target"": ""http://u:p@h:1"", ""model"": ""m/M-8B""}","{""version"":1,""guidellm_version"":""0.6.0""}",synchronous,2026-01-02 03:04:05,30.0,12,1,0,2.5,2.4,0.25,"[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.6, 2.7, 2.8, 2.9, 3.0]",45.5,44.0,0.4,61.25
r1,1,"{""target"": ""http://u:p@h:1"", ""model"": ""m/M-8B""}","{""version"":1,""guidellm_version"":""0.6.0""}",constant,2026-01-02 03:05:05,30.0,1,0,9,2.5,2.4,0.25,"[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.6, 2.7, 2.8, 2.9, 3.0]",90.5,88.0,0.5,80.5
)text";

inline constexpr std::string_view mlc_sample =
    R"text(Intel(R) Memory Latency Checker - v3.11b
Measuring idle latencies for sequential access (in ns)...
		Numa node
Numa node	     0	     1
       0	  82.5	 141.0
       1	 141.5	  81.5

Measuring Peak Injection Memory Bandwidths for the system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
Using traffic with the following read-write ratios
ALL Reads        :	158844.5
Stream-triad like:	128158.5

Measuring Memory Bandwidths between nodes within system
Using Read-only traffic type
		Numa node
Numa node	     0	     1
       0	79670.5	34393.5
       1	34385.5	79678.5

Measuring Loaded Latencies for the system
Inject	Latency	Bandwidth
Delay	(ns)	MB/sec
==========================
 00000	250.50	 158000.5
 00100	 95.25	  52000.0

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HIT  latency	45.5
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
			Reader Numa Node
Writer Numa Node     0	     1
            0	     -	 112.5
            1	 113.5	     -
)text";

inline constexpr std::string_view osu_sample =
    R"text($ mpirun -n 144 osu_allreduce -f

# OSU MPI-ROCM Allreduce Latency Test v7.5
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                      11.75             10.50             12.50        1000
1048576              3576.50           3500.00           3600.00         100

# OSU MPI Bandwidth Test v5.8
# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)
# Size      Bandwidth (MB/s)        Validation
4096                   6028.50              Pass
4194304               24000.25              Fail

# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2
# [ pairs: 2 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       7.75        7790845.25

# OSU MPI Barrier Latency Test v5.8
# Avg Latency(us)
            12.50

real	0m5.711s
)text";

inline constexpr std::string_view p2p_sample =
    R"text([P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA H100 80GB HBM3, pciBusID: 19, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA H100 80GB HBM3, pciBusID: 3b, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1

P2P Connectivity Matrix
     D\D     0     1
     0	     1     1
     1	     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1 
     0 2516.50  38.25 
     1  38.50 2537.75 
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\D     0      1 
     0 2528.00 740.25 
     1 742.50 2540.00 
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1 
     0   2.10   1.25 
     1   1.50   2.00 

   CPU     0      1 
     0   2.50   1.75 
     1   1.50   2.25 
)text";

inline constexpr std::string_view serving_block_sample =
    R"text(INFO 03-01 10:11:12 [serve.py:1] Starting main benchmark run...
============ Serving Benchmark Result ============
Successful requests:                     300       
Failed requests:                         2         
Maximum request concurrency:             25        
Request rate configured (RPS):           1.50      
Benchmark duration (s):                  872.50    
Total input tokens:                      1202084   
Total generated tokens:                  150317    
Request throughput (req/s):              0.34      
Output token throughput (tok/s):         172.50    
Peak output token throughput (tok/s):    226.00    
Total token throughput (tok/s):          1550.25   
---------------Time to First Token----------------
Mean TTFT (ms):                          1981.50   
Median TTFT (ms):                        1684.25   
P99 TTFT (ms):                           8935.75   
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          25.50     
==================================================
============ Serving Benchmark Result ============
Backend:                                 sglang-oai
Traffic request rate:                    inf       
Max request concurrency:                 not set   
Successful requests:                     10        
Benchmark duration (s):                  10.50     
Total input tokens:                      100       
Total generated tokens:                  0         
Total generated tokens (retokenized):    0         
Request throughput (req/s):              0.95      
Output token throughput (tok/s):         0.00      
Concurrency:                             1.25      
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   834.50    
P90 E2E Latency (ms):                    983.25    
==================================================
)text";

inline constexpr std::string_view stream_sample =
    R"text(-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
This system uses 8 bytes per array element.
-------------------------------------------------------------
Array size = 134217728 (elements), Offset = 0 (elements)
Memory per array = 1024.0 MiB (= 1.0 GiB).
-------------------------------------------------------------
Number of Threads requested = 96
Number of Threads counted = 96
-------------------------------------------------------------
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:          685041.5     0.010067     0.010045     0.010089
Triad:         718799.0     0.014390     0.014360     0.014484
-------------------------------------------------------------
Solution Validates: avg error less than 1.000000e-13 on all three arrays
-------------------------------------------------------------
)text";

/// Every importer's name and a text of its format.
inline std::vector<std::pair<std::string_view, std::string_view>> import_samples() {
  return {{"aiperf", aiperf_sample},
          {"aiperf-csv", aiperf_csv_sample},
          {"assay", assay_sample},
          {"babelstream", babelstream_sample},
          {"babelstream-csv", babelstream_csv_sample},
          {"cuda-bandwidth-test", cuda_bandwidth_sample},
          {"gemm-bench", gemm_bench_sample},
          {"genai-perf", genai_perf_sample},
          {"google-benchmark", google_sample},
          {"google-benchmark-csv", google_csv_sample},
          {"guidellm", guidellm_sample},
          {"guidellm-csv", guidellm_csv_sample},
          {"hip-bus-bandwidth", hip_bus_sample},
          {"inferencex", inferencex_sample},
          {"llama-batched-bench", llama_batched_sample},
          {"llama-bench", llama_sample},
          {"llama-bench-compare", llama_compare_sample},
          {"llama-bench-csv", llama_csv_sample},
          {"llama-bench-md", llama_markdown_sample},
          {"llama-bench-sql", llama_sql_sample},
          {"mad", mad_sample},
          {"miopen-driver", miopen_sample},
          {"mlc", mlc_sample},
          {"mscclpp-test", mscclpp_sample},
          {"nccl-tests", nccl_sample},
          {"nccl-tests-json", nccl_json_sample},
          {"nvbandwidth", nvbandwidth_sample},
          {"nvbandwidth-json", nvbandwidth_json_sample},
          {"nvbench", nvbench_sample},
          {"osu", osu_sample},
          {"p2p-bandwidth-latency", p2p_sample},
          {"perftest", perftest_sample},
          {"perftest-json", perftest_json_sample},
          {"pytest-benchmark", pytest_benchmark_sample},
          {"rccl-tests-csv", rccl_csv_sample},
          {"rccl-tests-json", rccl_json_sample},
          {"rocm-bandwidth-test", rocm_sample},
          {"serving-block", serving_block_sample},
          {"sglang", sglang_sample},
          {"stream", stream_sample},
          {"superbench", superbench_sample},
          {"superbench-gpu-copy", gpu_copy_sample},
          {"superbench-gpu-stream", gpu_stream_sample},
          {"transferbench", transferbench_sample},
          {"ucc-perftest", ucc_sample},
          {"vllm-latency", vllm_latency_sample},
          {"vllm-serving", vllm_sample},
          {"vllm-throughput", vllm_throughput_sample}};
}

}  // namespace assay
