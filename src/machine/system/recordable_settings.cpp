#include "machine/system/recordable_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <vector>

#include "core/hash.h"
#include "core/secrets.h"
#include "machine/system/capture_text.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 38> prefixes = {
    "HIP_",    "HSA_",    "HSAKMT_",  "ROCR_",   "ROCM_",   "ROCBLAS_",  "HIPBLASLT_", "MIOPEN_",
    "AMD_",    "AMDGPU_", "TENSILE_", "GPU_",    "CUDA_",   "CUBLAS_",   "CUBLASLT_",  "NVIDIA_",
    "NCCL_",   "RCCL_",   "UCX_",     "OMPI_",   "MPICH_",  "FI_",       "IBV_",       "OMP_",
    "GOMP_",   "KMP_",    "MKL_",     "DNNL_",   "ONEDNN_", "OPENBLAS_", "TORCH_",     "PYTORCH_",
    "TRITON_", "VLLM_",   "SGLANG_",  "MALLOC_", "ASSAY_",  "GLIBC_"};

/// Variables that Open MPI's mpirun sets for each process, besides those that begin with
/// OMPI_MCA_orte_: addresses, folders and counts. They are new in every job, and explain nothing
/// that the number of ranks does not.
constexpr std::string_view set_by_mpirun = R"(
OMPI_APP_CTX_NUM_PROCS OMPI_ARGV OMPI_COMMAND OMPI_COMM_WORLD_NODE_RANK OMPI_FILE_LOCATION OMPI_FIRST_RANKS
OMPI_MCA_ess OMPI_MCA_ess_base_jobid OMPI_MCA_ess_base_vpid OMPI_MCA_initial_wdir OMPI_MCA_pmix
OMPI_MCA_shmem_RUNTIME_QUERY_hint OMPI_NUM_APP_CTX OMPI_UNIVERSE_SIZE
)";

/// Variables that vendors and projects document for tuning, and those that name devices, containers
/// and jobs.
constexpr std::string_view known_variables = R"(
LD_PRELOAD LD_LIBRARY_PATH GLIBC_TUNABLES VIRTUAL_ENV CONDA_PREFIX container
KUBERNETES_SERVICE_HOST APPTAINER_CONTAINER SINGULARITY_CONTAINER SLURM_JOB_ID SLURM_CPU_BIND
WSL_DISTRO_NAME
NCCL_ALGO NCCL_ALLOC_P2P_NET_LL_BUFFERS NCCL_BUFFSIZE NCCL_CGA_CLUSTER_SIZE NCCL_CHECKS_DISABLE
NCCL_CHECK_POINTERS NCCL_COLLNET_ENABLE NCCL_COLLNET_NODE_THRESHOLD NCCL_COMM_BLOCKING
NCCL_COMM_SPLIT_SHARE_RESOURCES NCCL_CROSS_NIC NCCL_CTA_POLICY NCCL_CUMEM_ENABLE
NCCL_CUMEM_HOST_ENABLE NCCL_DEBUG NCCL_DEBUG_FILE NCCL_DEBUG_SUBSYS NCCL_DMABUF_ENABLE
NCCL_GDRCOPY_ENABLE NCCL_GRAPH_MIXING_SUPPORT NCCL_GRAPH_REGISTER NCCL_IB_ADAPTIVE_ROUTING
NCCL_IB_ADDR_FAMILY NCCL_IB_ADDR_RANGE NCCL_IB_AR_THRESHOLD NCCL_IB_CUDA_SUPPORT NCCL_IB_DISABLE
NCCL_IB_ECE_ENABLE NCCL_IB_FIFO_TC NCCL_IB_GID_INDEX NCCL_IB_HCA NCCL_IB_MERGE_NICS
NCCL_IB_MERGE_VFS NCCL_IB_PCI_RELAXED_ORDERING NCCL_IB_PKEY NCCL_IB_QPS_PER_CONNECTION
NCCL_IB_RETRY_CNT NCCL_IB_ROCE_VERSION_NUM NCCL_IB_SL NCCL_IB_SPLIT_DATA_ON_QPS NCCL_IB_TC
NCCL_IB_TIMEOUT NCCL_IB_USE_INLINE NCCL_IGNORE_CPU_AFFINITY NCCL_IGNORE_DISABLED_P2P
NCCL_LAUNCH_MODE NCCL_LAUNCH_ORDER_IMPLICIT NCCL_LL128_BUFFSIZE NCCL_LL128_NTHREADS
NCCL_LL_BUFFSIZE NCCL_LL_THRESHOLD NCCL_LOCAL_REGISTER NCCL_MAX_CTAS NCCL_MAX_NCHANNELS
NCCL_MAX_NRINGS NCCL_MAX_P2P_NCHANNELS NCCL_MIN_CTAS NCCL_MIN_NCHANNELS NCCL_MIN_NRINGS
NCCL_MIN_P2P_NCHANNELS NCCL_MNNVL_ENABLE NCCL_NCHANNELS_PER_NET_PEER NCCL_NET
NCCL_NET_DISABLE_INTRA NCCL_NET_FORCE_FLUSH NCCL_NET_GDR_C2C NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ
NCCL_NET_PLUGIN NCCL_NET_SHARED_BUFFERS NCCL_NET_SHARED_COMMS NCCL_NSOCKS_PERTHREAD NCCL_NTHREADS
NCCL_NVB_DISABLE NCCL_NVLS_CHUNKSIZE NCCL_NVLS_ENABLE NCCL_NVLS_NCHANNELS NCCL_OOB_NET_ENABLE
NCCL_OOB_NET_IFNAME NCCL_P2P_DIRECT_DISABLE NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_P2P_LL_THRESHOLD
NCCL_P2P_NET_CHUNKSIZE NCCL_P2P_NVL_CHUNKSIZE NCCL_P2P_PCI_CHUNKSIZE NCCL_P2P_PXN_LEVEL
NCCL_P2P_READ_ENABLE NCCL_P2P_USE_CUDA_MEMCPY NCCL_PROFILER_PLUGIN NCCL_PROTO NCCL_PXN_C2C
NCCL_PXN_DISABLE NCCL_RAS_ENABLE NCCL_RINGS NCCL_RUNTIME_CONNECT NCCL_SET_STACK_SIZE
NCCL_SHM_DISABLE NCCL_SHM_LOCALITY NCCL_SHM_USE_CUDA_MEMCPY NCCL_SOCKET_FAMILY NCCL_SOCKET_IFNAME
NCCL_SOCKET_NTHREADS NCCL_SOCKET_RETRY_CNT NCCL_THREAD_THRESHOLDS NCCL_TOPO_DUMP_FILE
NCCL_TOPO_FILE NCCL_TREE_THRESHOLD NCCL_TUNER_PLUGIN NCCL_WIN_ENABLE NCCL_WORK_ARGS_BYTES
NCCL_WORK_FIFO_BYTES
RCCL_ENABLE_CLIQUE RCCL_ENABLE_HIPGRAPH RCCL_ENABLE_INTRANET RCCL_FORCE_ENABLE_DMABUF
RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING RCCL_KERNEL_COLL_TRACE_ENABLE RCCL_LL128_FORCE_ENABLE
RCCL_MSCCLPP_ENABLE RCCL_MSCCLPP_FORCE_ENABLE RCCL_MSCCLPP_THRESHOLD RCCL_MSCCL_ENABLE
RCCL_MSCCL_ENABLE_SINGLE_PROCESS RCCL_MSCCL_FORCE_ENABLE RCCL_P2P_BATCH_ENABLE
RCCL_P2P_NET_DISABLE RCCL_TREES_FILE
HSA_CU_MASK HSA_CU_MASK_SKIP_INIT HSA_DISABLE_CACHE HSA_DISABLE_FRAGMENT_ALLOCATOR
HSA_ENABLE_DEBUG HSA_ENABLE_INTERRUPT HSA_ENABLE_IPC_MODE_LEGACY HSA_ENABLE_PEER_SDMA
HSA_ENABLE_SDMA HSA_ENABLE_XNACK HSA_FORCE_FINE_GRAIN_PCIE HSA_KMT_DEBUG_LEVEL HSA_MAX_QUEUES
HSA_NO_SCRATCH_RECLAIM HSA_NO_SCRATCH_THREAD_LIMITER HSA_OVERRIDE_CPU_AFFINITY_DEBUG
HSA_OVERRIDE_GFX_VERSION HSA_SCRATCH_MEM HSA_SCRATCH_SINGLE_LIMIT HSA_SVM_GUARD_PAGES
HSA_TOOLS_LIB HSA_USE_SVM HSA_XNACK
HSAKMT_DEBUG_LEVEL
HIP_DB HIP_DEVICE_ORDER HIP_FORCE_DEV_KERNARG HIP_HIDDEN_FREE_MEM HIP_HOST_COHERENT
HIP_INITIAL_DM_SIZE HIP_LAUNCH_BLOCKING HIP_LOCAL_SDMA_CONFIG HIP_MEM_POOL_SUPPORT
HIP_MEM_POOL_USE_VM HIP_PLATFORM HIP_SKIP_ABORT_ON_GPU_ERROR HIP_STREAM_SIGNALS
HIP_USE_RUNTIME_UNBUNDLER HIP_VISIBLE_DEVICES HIP_VMEM_MANAGE_SUPPORT
ROCR_VISIBLE_DEVICES
ROCM_HOME ROCM_PATH ROCM_VERSION
ROCBLAS_CHECK_NUMERICS ROCBLAS_DEFAULT_ATOMICS_MODE ROCBLAS_DEVICE_MEMORY_SIZE
ROCBLAS_INTERNAL_FP16_ALT_IMPL ROCBLAS_LAYER ROCBLAS_LOG_BENCH ROCBLAS_LOG_TRACE
ROCBLAS_STREAM_ORDER_ALLOC ROCBLAS_TENSILE_LIBPATH ROCBLAS_USE_HIPBLASLT
ROCBLAS_VERBOSE_TENSILE_ERROR
HIPBLASLT_BENCH_EXTOP_PATH HIPBLASLT_EXT_OP_LIBRARY_PATH HIPBLASLT_LOG_FILE HIPBLASLT_LOG_LEVEL
HIPBLASLT_LOG_MASK HIPBLASLT_TENSILE_LIBPATH HIPBLASLT_TUNING_FILE HIPBLASLT_TUNING_OVERRIDE_FILE
HIPBLASLT_TUNING_USER_MAX_WORKSPACE
MIOPEN_COMPILE_PARALLEL_LEVEL MIOPEN_CUSTOM_CACHE_DIR MIOPEN_DEBUG_CONV_DIRECT
MIOPEN_DEBUG_CONV_FFT MIOPEN_DEBUG_CONV_GEMM MIOPEN_DEBUG_CONV_IMPLICIT_GEMM
MIOPEN_DEBUG_CONV_WINOGRAD MIOPEN_DISABLE_CACHE MIOPEN_ENABLE_LOGGING
MIOPEN_ENABLE_LOGGING_CMD MIOPEN_FIND_ENFORCE MIOPEN_FIND_MODE MIOPEN_LOG_LEVEL MIOPEN_SYSTEM_DB_PATH MIOPEN_USER_DB_PATH
AMD_CPU_AFFINITY AMD_DIRECT_DISPATCH AMD_LOG_LEVEL AMD_LOG_LEVEL_FILE AMD_LOG_MASK
AMD_OCL_BUILD_OPTIONS AMD_OPT_FLUSH AMD_SERIALIZE_COPY AMD_SERIALIZE_KERNEL
AMDGPU_TARGETS
TENSILE_DB TENSILE_NAIVE_SEARCH TENSILE_SOLUTION_INDEX TENSILE_STREAMK_DYNAMIC_GRID
TENSILE_STREAMK_MAX_CUS
GPU_DEVICE_ORDINAL GPU_ENABLE_LC GPU_ENABLE_WGP_MODE GPU_FORCE_BLIT_COPY_SIZE
GPU_MAX_COMMAND_QUEUES GPU_MAX_HEAP_SIZE GPU_MAX_HW_QUEUES GPU_MAX_WORKGROUP_SIZE
GPU_PINNED_MIN_XFER_SIZE GPU_PINNED_XFER_SIZE GPU_SINGLE_ALLOC_PERCENT GPU_STAGING_BUFFER_SIZE
GPU_WAVES_PER_SIMD
CUDA_AUTO_BOOST CUDA_CACHE_DISABLE CUDA_CACHE_MAXSIZE CUDA_CACHE_PATH
CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT CUDA_DEVICE_MAX_CONNECTIONS
CUDA_DEVICE_ORDER CUDA_DEVICE_WAITS_ON_EXCEPTION CUDA_DISABLE_PTX_JIT
CUDA_ENABLE_COREDUMP_ON_EXCEPTION CUDA_FORCE_PTX_JIT CUDA_HOME CUDA_LAUNCH_BLOCKING
CUDA_MANAGED_FORCE_DEVICE_ALLOC CUDA_MODULE_DATA_LOADING CUDA_MODULE_LOADING
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING
CUDA_MPS_LOG_DIRECTORY CUDA_MPS_PINNED_DEVICE_MEM_LIMIT CUDA_MPS_PIPE_DIRECTORY CUDA_PATH
CUDA_SCALE_LAUNCH_QUEUES CUDA_VERSION CUDA_VISIBLE_DEVICES
CUBLAS_EMULATE_SINGLE_PRECISION CUBLAS_EMULATION_STRATEGY CUBLAS_LOGDEST_DBG CUBLAS_LOGINFO_DBG
CUBLAS_WORKSPACE_CONFIG
CUBLASLT_HEURISTICS_CACHE_CAPACITY CUBLASLT_LOG_FILE CUBLASLT_LOG_LEVEL CUBLASLT_LOG_MASK
NVIDIA_DISABLE_REQUIRE NVIDIA_DRIVER_CAPABILITIES NVIDIA_PRODUCT_NAME NVIDIA_PYTORCH_VERSION
NVIDIA_REQUIRE_CUDA NVIDIA_TF32_OVERRIDE NVIDIA_VISIBLE_DEVICES
UCX_IB_GID_INDEX UCX_IB_GPU_DIRECT_RDMA UCX_IB_PCI_RELAXED_ORDERING UCX_IB_SL UCX_IB_TRAFFIC_CLASS
UCX_LOG_LEVEL UCX_MAX_RMA_RAILS UCX_MAX_RNDV_RAILS UCX_MEMTYPE_CACHE UCX_NET_DEVICES
UCX_PROTO_ENABLE UCX_RC_TIMEOUT UCX_RNDV_SCHEME UCX_RNDV_THRESH UCX_ROCM_COPY_SIGPOOL_MAX_ELEMS
UCX_TLS UCX_WARN_UNUSED_ENV_VARS UCX_ZCOPY_THRESH
OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE
OMPI_MCA_btl OMPI_MCA_btl_tcp_if_include OMPI_MCA_coll OMPI_MCA_mtl OMPI_MCA_osc OMPI_MCA_pml
MPICH_ASYNC_PROGRESS MPICH_GPU_SUPPORT_ENABLED MPICH_NO_BUFFER_ALIAS_CHECK MPICH_OFI_NIC_POLICY
MPICH_VERSION_DISPLAY
FI_CXI_DEFAULT_CQ_SIZE FI_CXI_DISABLE_HOST_REGISTER FI_CXI_RX_MATCH_MODE FI_EFA_FORK_SAFE
FI_EFA_USE_DEVICE_RDMA FI_HMEM FI_HMEM_CUDA_USE_GDRCOPY FI_LOG_LEVEL FI_MR_CACHE_MONITOR
FI_PROVIDER FI_TCP_IFACE
IBV_FORK_SAFE IBV_HUGEPAGES_SAFE
OMP_CANCELLATION OMP_DISPLAY_AFFINITY OMP_DISPLAY_ENV OMP_DYNAMIC OMP_MAX_ACTIVE_LEVELS OMP_NESTED
OMP_NUM_THREADS OMP_PLACES OMP_PROC_BIND OMP_SCHEDULE OMP_STACKSIZE OMP_THREAD_LIMIT
OMP_WAIT_POLICY
GOMP_CPU_AFFINITY GOMP_SPINCOUNT GOMP_STACKSIZE
KMP_AFFINITY KMP_BLOCKTIME KMP_HW_SUBSET KMP_LIBRARY KMP_SETTINGS KMP_STACKSIZE
MKL_DEBUG_CPU_TYPE MKL_DYNAMIC MKL_ENABLE_INSTRUCTIONS MKL_INTERFACE_LAYER MKL_NUM_THREADS
MKL_THREADING_LAYER MKL_VERBOSE
DNNL_CPU_ISA_HINTS DNNL_DEFAULT_FPMATH_MODE DNNL_MAX_CPU_ISA DNNL_PRIMITIVE_CACHE_CAPACITY
DNNL_VERBOSE
ONEDNN_CPU_ISA_HINTS ONEDNN_DEFAULT_FPMATH_MODE ONEDNN_MAX_CPU_ISA ONEDNN_PRIMITIVE_CACHE_CAPACITY
ONEDNN_VERBOSE
OPENBLAS_CORETYPE OPENBLAS_MAIN_FREE OPENBLAS_NUM_THREADS OPENBLAS_VERBOSE
MALLOC_ARENA_MAX MALLOC_ARENA_TEST MALLOC_CHECK_ MALLOC_CONF MALLOC_MMAP_MAX_
MALLOC_MMAP_THRESHOLD_ MALLOC_TOP_PAD_ MALLOC_TRIM_THRESHOLD_
TRITON_CACHE_DIR TRITON_HIP_USE_ASYNC_COPY TRITON_HIP_USE_BLOCK_PINGPONG TRITON_INTERPRET
TRITON_PRINT_AUTOTUNING TRITON_PTXAS_PATH
TORCH_ALLOW_TF32_CUBLAS_OVERRIDE TORCH_BLAS_PREFER_CUBLASLT TORCH_BLAS_PREFER_HIPBLASLT
TORCH_COMPILE_DEBUG TORCH_CUDA_ARCH_LIST TORCH_CUDNN_V8_API_DISABLED TORCH_DISTRIBUTED_DEBUG
TORCH_NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_AVOID_RECORD_STREAMS TORCH_NCCL_BLOCKING_WAIT
TORCH_NCCL_HIGH_PRIORITY TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK TORCH_SHOW_CPP_STACKTRACES
PYTORCH_ALLOC_CONF PYTORCH_CUDA_ALLOC_CONF PYTORCH_HIP_ALLOC_CONF PYTORCH_NO_CUDA_MEMORY_CACHING
PYTORCH_NO_HIP_MEMORY_CACHING PYTORCH_NVML_BASED_CUDA_CHECK PYTORCH_ROCM_ARCH
PYTORCH_TUNABLEOP_ENABLED PYTORCH_TUNABLEOP_FILENAME PYTORCH_TUNABLEOP_HIPBLASLT_ENABLED
PYTORCH_TUNABLEOP_ICACHE_FLUSH_ENABLED PYTORCH_TUNABLEOP_MAX_TUNING_DURATION_MS
PYTORCH_TUNABLEOP_MAX_TUNING_ITERATIONS PYTORCH_TUNABLEOP_MAX_WARMUP_DURATION_MS
PYTORCH_TUNABLEOP_MAX_WARMUP_ITERATIONS PYTORCH_TUNABLEOP_NUMERICAL_CHECK
PYTORCH_TUNABLEOP_RECORD_UNTUNED PYTORCH_TUNABLEOP_ROCBLAS_ENABLED
PYTORCH_TUNABLEOP_ROTATING_BUFFER_SIZE PYTORCH_TUNABLEOP_TUNING PYTORCH_TUNABLEOP_UNTUNED_FILENAME
PYTORCH_TUNABLEOP_VERBOSE
VLLM_ALLREDUCE_USE_SYMM_MEM VLLM_ATTENTION_BACKEND VLLM_CPU_KVCACHE_SPACE
VLLM_CPU_OMP_THREADS_BIND VLLM_ENABLE_V1_MULTIPROCESSING VLLM_FLASH_ATTN_VERSION
VLLM_LOGGING_LEVEL VLLM_NCCL_SO_PATH VLLM_ROCM_CUSTOM_PAGED_ATTN VLLM_ROCM_FP8_PADDING
VLLM_ROCM_MOE_PADDING VLLM_ROCM_QUICK_REDUCE_QUANTIZATION VLLM_ROCM_SLEEP_MEM_CHUNK_SIZE
VLLM_ROCM_USE_AITER VLLM_ROCM_USE_AITER_FP8BMM VLLM_ROCM_USE_AITER_LINEAR VLLM_ROCM_USE_AITER_MHA
VLLM_ROCM_USE_AITER_MLA VLLM_ROCM_USE_AITER_MOE VLLM_ROCM_USE_AITER_PAGED_ATTN
VLLM_ROCM_USE_AITER_RMSNORM VLLM_ROCM_USE_SKINNY_GEMM VLLM_TARGET_DEVICE VLLM_USE_DEEP_GEMM
VLLM_USE_FLASHINFER_SAMPLER VLLM_USE_RAY_COMPILED_DAG VLLM_USE_TRITON_AWQ
VLLM_USE_TRITON_FLASH_ATTN VLLM_USE_V1 VLLM_WORKER_MULTIPROC_METHOD
SGLANG_AITER_MOE SGLANG_CI_SMALL_KV_SIZE SGLANG_ENABLE_TORCH_COMPILE SGLANG_INT4_WEIGHT
SGLANG_MOE_PADDING SGLANG_ROCM_AITER_BLOCK_MOE SGLANG_USE_AITER AITER_ASM_DIR
ASSAY_ADDRESS ASSAY_CPU_VARIANT ASSAY_CUBLASLT_LIBRARY ASSAY_CUBLAS_LIBRARY ASSAY_CUDA_LIBRARY
ASSAY_CUDNN_LIBRARY ASSAY_CUPTI_LIBRARY ASSAY_FAKE ASSAY_HIPBLASLT_LIBRARY ASSAY_HIP_LIBRARY ASSAY_LLVM_OBJDUMP
ASSAY_LOCAL_RANK ASSAY_MIOPEN_LIBRARY ASSAY_MPI_LIBRARY ASSAY_NCCL_LIBRARY ASSAY_NVRTC_LIBRARY ASSAY_ONEDNN_LIBRARY
ASSAY_OWN_ATTENTION ASSAY_PTXAS
ASSAY_RANK ASSAY_RANKS ASSAY_RCCL_LIBRARY ASSAY_ROCBLAS_LIBRARY ASSAY_VERBS_LIBRARY
)";

/// Options of the kernel and its modules that change speed (Linux, kernel-parameters.txt), and
/// options that every machine has.
constexpr std::string_view known_boot_options = R"(
--firecracker-init cpuidle_haltpoll.force deferred_init haltpoll.guest_halt_poll_ns nested_pvm
nomodule page_reporting.page_reporting_order psi sched_vcpu_pack amd_iommu amd_pstate amdttm.page_pool_size amdttm.pages_limit apparmor audit bert_disable
biosdevname cgroup.memory cgroup_disable cgroup_enable clearcpuid clocksource cma console
cpufreq.default_governor cpuidle.off crashkernel debug default_hugepagesz dis_ucode_ldr earlycon
edac_report efi elevator enforcing fips hpet hugepages hugepagesz hugetlb_free_vmemmap idle
init_on_alloc init_on_free intel_idle.max_cstate intel_iommu intel_pstate iommu iommu.forcedac
iommu.passthrough iommu.strict irqaffinity isolcpus kvm-amd.nested kvm-intel.nested
kvm.halt_poll_ns kvm.nx_huge_pages loglevel maxcpus mce mem memmap mitigations modprobe.blacklist
module_blacklist movable_node msr.allow_writes net.ifnames nmi_watchdog no_timer_check noapic
nohibernate nohz nohz_full nokaslr nolapic nomodeset nopti norandmaps noreplace-smp nosmap nosmep
nosmt nosoftlockup nospec_store_bypass_disable nospectre_v1 nospectre_v2 nowatchdog noxsave
nr_cpus numa numa_balancing nvidia-drm.modeset nvidia.NVreg_EnableGpuFirmware
nvidia.NVreg_EnableStreamMemOPs nvidia.NVreg_RegistryDwords nvme.poll_queues
nvme_core.default_ps_max_latency_us panic pci pcie_acs_override pcie_aspm pcie_port_pm pcie_ports
possible_cpus preempt processor.max_cstate pti quiet random.trust_cpu rcu_nocb_poll rcu_nocbs
rd.driver.blacklist reboot relax_domain_level retbleed ro rw sched_debug selinux skew_tick smt
spec_rstack_overflow spec_store_bypass_disable spectre_v2 spectre_v2_user splash srbds swapaccount
swiotlb systemd.unified_cgroup_hierarchy threadirqs transparent_hugepage tsc tsx tsx_async_abort
vfio-pci.ids vfio_iommu_type1.allow_unsafe_interrupts virtio_mmio.device watchdog_thresh
workqueue.power_efficient x2apic_phys xen_blkfront.max
)";

/// Mount options that describe how a file system works.
constexpr std::string_view known_mount_options = R"(
ro rw relatime noatime nodiratime strictatime lazytime nosuid nodev noexec sync async dirsync shared
master propagate_from private unbindable size nr_inodes nr_blocks mode uid gid huge mpol inode64 inode32 lowerdir
upperdir workdir index redirect_dir metacopy xino volatile userxattr data barrier commit discard
nodiscard stripe errors quota noquota usrquota grpquota prjquota logbufs logbsize attr2 noattr2 largeio swalloc allocsize
space_cache compress compress-force ssd nossd subvolid vers nfsvers proto rsize wsize namlen hard
soft intr timeo retrans nconnect local_lock lookupcache actimeo nsdelegate memory_recursiveprot
favordynmods memory_hugetlb_accounting cpu cpuacct cpuset blkio memory devices freezer pids hugetlb
perf_event net_cls net_prio rdma pagesize ptmxmode hidepid subset xattr flock trans msize cache access
)";
constexpr std::string_view known_file_systems = R"(
autofs bdev binfmt_misc bpf btrfs ceph cgroup cgroup2 cifs configfs debugfs devpts devtmpfs ecryptfs
efivarfs erofs ext2 ext3 ext4 exfat f2fs fuse fuse.lxcfs fuse.sshfs fuse.s3fs fuse.juicefs fusectl gpfs
hugetlbfs iso9660 lustre mqueue nfs nfs4 nfsd ntfs overlay proc pstore ramfs rootfs rpc_pipefs
securityfs selinuxfs smb3 squashfs sysfs tmpfs tracefs udf vfat virtiofs wekafs xfs zfs 9p beegfs
)";

/// Returns whether `list`, names separated by white space, contains this one.
bool has_word(std::string_view list, std::string_view name) {
  if (name.empty() || name.find_first_of(" \n") != std::string_view::npos) return false;
  for (std::size_t at = list.find(name); at != std::string_view::npos;
       at = list.find(name, at + 1)) {
    const auto is_edge = [&](std::size_t i) {
      return i >= list.size() || list[i] == ' ' || list[i] == '\n';
    };
    if (is_edge(at - 1) && is_edge(at + name.size())) return true;
  }
  return false;
}

/// A value that is already a hash stays unchanged when a capture is read in place of its machine.
std::string short_hash(std::string_view secret) {
  constexpr std::size_t digits = 4;
  const bool hashed = secret.size() == 1 + digits && secret.front() == '#' &&
                      secret.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
  return hashed ? std::string(secret) : "#" + sha256_hex(secret).substr(0, digits);
}

/// Returns true for a number, path, list or switch. Returns false for addresses ("://", "user@",
/// "?query") and for text in which something is named like a secret.
bool looks_like_setting(std::string_view value) {
  constexpr std::size_t longest = 1024;
  constexpr std::string_view allowed = " _.,:;=+*/^~%!$@{}()[]<>|-\"";
  return value.size() <= longest && value.find("://") == std::string_view::npos &&
         std::all_of(value.begin(), value.end(),
                     [&](char letter) {
                       return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
                              allowed.find(letter) != std::string_view::npos;
                     }) &&
         !is_secret_name(value) && hide_secrets_in(value) == value;
}

bool is_plain_name(std::string_view name) {
  constexpr std::size_t longest = 64;
  return !name.empty() && name.size() <= longest &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' ||
                  letter == '.' || letter == '-';
         });
}

/// Returns "name=value" or "name" as it may be recorded: unchanged if the name is in `known`, else
/// "name=#3fa2", or "#3fa2" if it does not look like an option.
std::string recorded_option(std::string_view option, std::string_view known) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if (has_word(known, name) &&
      (equals == std::string_view::npos || looks_like_setting(option.substr(equals + 1)))) {
    return std::string(option);
  }
  if (equals == std::string_view::npos || !is_plain_name(name)) return short_hash(option);
  return std::string(name) + "=" + short_hash(option.substr(equals + 1));
}

std::string recorded_boot_line(std::string_view line) {
  std::string kept;
  for (const std::string& word : boot_words(line)) {
    kept += (kept.empty() ? "" : " ") + recorded_option(word, known_boot_options);
  }
  return kept + "\n";
}

std::string recorded_mount_options(std::string_view options) {
  std::string kept;
  for (std::size_t begin = 0; begin <= options.size();) {
    const std::size_t end = std::min(options.find(',', begin), options.size());
    kept += (kept.empty() ? "" : ",") +
            recorded_option(options.substr(begin, end - begin), known_mount_options);
    begin = end + 1;
  }
  return kept;
}

/// Keeps devices and the names of file systems without a device; the address of a server is hashed.
std::string recorded_mount_source(std::string_view source) {
  const bool device = source.starts_with("/dev/") && looks_like_setting(source);
  return device || source == "none" || has_word(known_file_systems, source) ? std::string(source)
                                                                            : short_hash(source);
}

/// Returns a line of /proc/PID/mounts, "source target type options 0 0", or of mountinfo, as it may
/// be recorded. A line of mountinfo is "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw"
/// (Linux, proc_pid_mountinfo(5)), whose optional fields end with the dash; without a dash the
/// result is empty.
std::string recorded_mount(const std::vector<std::string>& parts, bool info) {
  constexpr std::size_t options_of_mount = 5;
  const auto dash = std::find(parts.begin(), parts.end(), "-");
  if (info && dash == parts.end()) return {};
  const std::size_t type = info ? static_cast<std::size_t>(dash - parts.begin()) + 1 : 2;
  const std::size_t source = info ? type + 1 : 0, options = info ? type + 2 : 3;
  std::string kept;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) kept += ' ';
    if (i == source) {
      kept += recorded_mount_source(parts[i]);
    } else if (i == options || (info && i == options_of_mount)) {
      kept += recorded_mount_options(parts[i]);
    } else {
      kept += parts[i];
    }
  }
  return kept + "\n";
}

std::string recorded_mounts(std::string_view text, bool info) {
  std::istringstream lines{std::string(text)};
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> parts;
    for (std::string word; words >> word;) parts.push_back(word);
    kept += recorded_mount(parts, info);
  }
  return kept;
}

}  // namespace

std::vector<std::string> boot_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char letter : line) {
    if (letter == '"') quoted = !quoted;
    if (quoted || std::isspace(static_cast<unsigned char>(letter)) == 0) {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

bool is_performance_variable(std::string_view name) {
  if (name.starts_with("ASSAY_TOKEN")) return false;  // it differs in every run
  if (name.starts_with("OMPI_MCA_orte_") || has_word(set_by_mpirun, name)) return false;
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         has_word(known_variables, name);
}

std::string recorded_value(std::string_view variable, std::string_view value) {
  return has_word(known_variables, variable) && looks_like_setting(value) ? std::string(value)
                                                                          : short_hash(value);
}

Variables performance_variables() {
  Variables found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (!is_performance_variable(name)) continue;
    found[std::string(name)] = recorded_value(name, text.substr(equals + 1));
  }
  return found;
}

std::string recorded_file(std::string_view path, std::string_view content) {
  const bool info = path.ends_with("/mountinfo");
  const bool boot = path == "proc/cmdline";
  if (!boot && !(path.starts_with("proc/") && (info || path.ends_with("/mounts")))) {
    return std::string(content);
  }
  if (!is_plain_text(content)) return "\x01";  // still not text, and reveals nothing of the content
  return boot ? recorded_boot_line(content) : recorded_mounts(content, info);
}

}  // namespace assay
