// Small traces for each trap of judging the time of a GPU.
#include "judge/trace/device_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/trace/trace_report.h"
#include "support/trace_text.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string host_event(std::string_view category, std::string_view name, std::string_view ts,
                       std::string_view dur, std::string_view args = "",
                       std::string_view pid = "9") {
  return "{\"ph\":\"X\",\"cat\":\"" + std::string(category) + "\",\"name\":\"" + std::string(name) +
         "\",\"pid\":" + std::string(pid) + ",\"tid\":1,\"ts\":" + std::string(ts) +
         ",\"dur\":" + std::string(dur) + ",\"args\":{" + std::string(args) + "}}";
}

DeviceTimes times_of(const std::string& events) {
  const Timeline timeline = timeline_of(kineto_text(events));
  const TraceIndex index(timeline);
  return device_times(index, index.devices().at("0"));
}

TEST(DeviceTimes, WorkOnSeveralStreamsCountsOnce) {
  const DeviceTimes times = times_of(gpu_event("kernel", "gemm", "20", "10", "", "1") + "," +
                                     gpu_event("kernel", "gemm", "0", "10", "", "1") + "," +
                                     gpu_event("kernel", "gemm", "5", "10", "", "2"));
  EXPECT_EQ(times.span, 30'000);
  EXPECT_EQ(times.busy, 25'000);
  EXPECT_EQ(times.idle, 5'000);
  EXPECT_EQ(times.kernel_sum, 30'000);
  EXPECT_EQ(times.streams, 2u);
  EXPECT_EQ(times.same_stream_overlaps, 0u);
}

TEST(DeviceTimes, AnnotationsOfTheGpuAreNoWork) {
  const DeviceTimes times = times_of(gpu_event("gpu_user_annotation", "step", "0", "100") + "," +
                                     gpu_event("kernel", "k", "10", "10"));
  EXPECT_EQ(times.span, 10'000);
  EXPECT_EQ(times.busy, 10'000);
}

TEST(DeviceTimes, CollectivesAndCopiesAreExposedWhereNothingIsComputed) {
  const DeviceTimes times =
      times_of(gpu_event("kernel", "gemm", "0", "10", "", "1") + "," +
               gpu_event("kernel", "ncclDevKernel_AllReduce_RING_LL", "5", "10", "", "2") + "," +
               gpu_event("gpu_memcpy", "Memcpy HtoD", "8", "12", "", "3"));
  EXPECT_EQ(times.compute, 10'000);
  EXPECT_EQ(times.exposed_collective, 5'000);
  EXPECT_EQ(times.exposed_copy, 5'000);
}

TEST(DeviceTimes, CopiesThatRocmRecordsAsKernelsAreCopies) {
  const DeviceTimes times = times_of(gpu_event("kernel", "__amd_rocclr_copyBuffer", "0", "10"));
  EXPECT_EQ(times.kernels, 1u);
  EXPECT_EQ(times.copy, 10'000);
  EXPECT_EQ(times.compute, 0);
}

TEST(DeviceTimes, TheHostIsLateIfTheCallBeganAfterTheGapDid) {
  const DeviceTimes times = times_of(
      gpu_event("kernel", "a", "0", "10", R"("correlation":1)") + "," +
      gpu_event("kernel", "b", "20", "10", R"("correlation":2)") + "," +
      gpu_event("kernel", "c", "40", "10", R"("correlation":3)") + "," +
      gpu_event("kernel", "d", "60", "10", R"("correlation":4)") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "12", "2", R"("correlation":2)") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "25", "9", R"("correlation":3)"));
  EXPECT_EQ(times.gaps, 3u);
  EXPECT_EQ(times.host_late_gaps, 1u);
  EXPECT_EQ(times.host_late, 10'000);
  EXPECT_EQ(times.launched_before, 10'000);
  EXPECT_EQ(times.unknown, 10'000);
  EXPECT_TRUE(is_launch_bound(times));
}

TEST(DeviceTimes, ManyKernelsOfOneGraphLaunchHaveOneCall) {
  const DeviceTimes times =
      times_of(gpu_event("kernel", "a", "10", "10", R"("correlation":1)") + "," +
               gpu_event("kernel", "b", "30", "10", R"("correlation":1)") + "," +
               host_event("cuda_runtime", "hipGraphLaunch", "0", "2", R"("correlation":1)"));
  EXPECT_EQ(times.from_graphs, 2u);
  EXPECT_EQ(times.host_late_gaps, 0u);
}

TEST(DeviceTimes, OverlapsOnOneStreamAreCounted) {
  EXPECT_EQ(
      times_of(gpu_event("kernel", "a", "0", "10") + "," + gpu_event("kernel", "b", "9", "10"))
          .same_stream_overlaps,
      1u);
}

TEST(DeviceTimes, ADurationThatSwallowsItsSuccessorsIsImplausible) {
  std::string events = gpu_event("kernel", "seconds", "0", "1000");
  for (const char* start : {"10", "20", "30"}) {
    events += "," + gpu_event("kernel", "k", start, "5");
  }
  EXPECT_EQ(times_of(events).implausible, 1u);
  // A dependent launch overlaps its predecessor only.
  EXPECT_EQ(
      times_of(gpu_event("kernel", "a", "0", "10") + "," + gpu_event("kernel", "b", "9", "10") +
               "," + gpu_event("kernel", "c", "18", "10") + "," +
               gpu_event("kernel", "d", "27", "10"))
          .implausible,
      0u);
}

TEST(DeviceSteps, WorkBelongsToTheStepThatLaunchedIt) {
  const Timeline timeline = timeline_of(kineto_text(
      host_event("user_annotation", "ProfilerStep#2", "100", "50") + "," +
      host_event("user_annotation", "ProfilerStep#1", "0", "50") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "10", "1", R"("correlation":1)") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "110", "1", R"("correlation":2)") + "," +
      // The first step's work runs while the host is in the second one.
      gpu_event("kernel", "a", "105", "20", R"("correlation":1)") + "," +
      gpu_event("kernel", "b", "150", "30", R"("correlation":2)")));
  const TraceIndex index(timeline);
  const auto steps = device_steps(index, index.devices().at("0"));
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_EQ(steps[0].times.span, 45'000);
  EXPECT_EQ(steps[0].times.idle, 25'000);
  EXPECT_EQ(steps[1].times.span, 30'000);
  EXPECT_EQ(device_times(index, index.devices().at("0")).between_steps, 25'000);
}

TEST(DeviceSteps, StepsInsideAnotherAreItsParts) {
  const auto count = [](const std::string& outer, const std::string& inner) {
    const Timeline timeline =
        timeline_of(kineto_text(host_event("user_annotation", outer, "0", "100") + "," +
                                host_event("user_annotation", inner, "10", "50") + "," +
                                host_event("user_annotation", inner, "200", "50")));
    return TraceIndex(timeline).steps().size();
  };
  EXPECT_EQ(count("ProfilerStep#1", "execute_32"), 1u);
  EXPECT_EQ(count("execute_64", "execute_32"), 2u);
}

TEST(DeviceSteps, TimesMayBeNegative) {
  const Timeline timeline = timeline_of(kineto_text(
      host_event("user_annotation", "ProfilerStep#1", "-1000", "100") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "-990", "1", R"("correlation":1)") + "," +
      gpu_event("kernel", "a", "-980", "20", R"("correlation":1)")));
  const TraceIndex index(timeline);
  const auto steps = device_steps(index, index.devices().at("0"));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].times.span, 20'000);
}

TEST(TraceReport, SaysWhatTheTraceCannotTell) {
  const auto notes = [](const std::string& events) {
    const Timeline timeline = timeline_of(kineto_text(events));
    return report_trace(TraceIndex(timeline)).notes;
  };
  EXPECT_THAT(notes(host_event("cpu_op", "aten::mm", "0", "1")),
              ElementsAre(HasSubstr("no work of a GPU")));
  EXPECT_THAT(notes(gpu_event("kernel", "k", "0", "1")),
              ElementsAre(ContainsRegex("no calls of the host.*; record them.*--hip-trace")));
  EXPECT_THAT(notes(host_event("cuda_runtime", "a", "0", "1", "", "1") + "," +
                    host_event("cuda_runtime", "b", "0", "1", "", "2") + "," +
                    gpu_event("kernel", "k", "0", "1")),
              Contains(HasSubstr("2 processes are in one file")));
}

TEST(TraceReport, AdvisesToTuneProductsByTheirShapes) {
  const Timeline timeline = timeline_of(
      R"({"deviceProperties":[{"id":0,"name":"NVIDIA H200","numSms":132}],"traceEvents":[)" +
      host_event("cpu_op", "aten::mm", "0", "5",
                 R"("External id":1,"Input Dims":[[2048,4096],[4096,1024]],"Input type":)"
                 R"(["c10::BFloat16","c10::BFloat16"])") +
      "," +
      gpu_event("kernel", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "10", "100",
                R"("External id":1)") +
      "]}");
  const TraceReport report = report_trace(TraceIndex(timeline));
  ASSERT_EQ(report.devices.size(), 1u);
  ASSERT_FALSE(report.devices.front().advice.empty());
  const TraceAdvice& advice = report.devices.front().advice.front();
  EXPECT_EQ(advice.command, "assay tune gemm shape=2048x1024x4096 dtype=bf16 layout=TN");
  // 2 * 2048 * 1024 * 4096 operations take 17.4 us at 989.4 TFLOP/s.
  EXPECT_NEAR(static_cast<double>(advice.most), 82'636, 50);
}

/// The advice about GPU 0 of a trace with these events; `product` is the GPU's name.
std::vector<TraceAdvice> advice_of(const std::string& events, const std::string& product) {
  const Timeline timeline = timeline_of(R"({"deviceProperties":[{"id":0,"name":")" + product +
                                        R"(","numSms":132}],"traceEvents":[)" + events + "]}");
  return report_trace(TraceIndex(timeline)).devices.front().advice;
}

std::string product_of_floats(const std::string& operation, const std::string& dims) {
  return host_event(
             "cpu_op", operation, "0", "5",
             R"("External id":1,"Input Dims":)" + dims + R"(,"Input type":["float","float"])") +
         "," +
         gpu_event("kernel", "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4", "10", "100",
                   R"("External id":1)");
}

TEST(TraceReport, ProductsInTf32AreHeldAgainstItsPeak) {
  const auto advice =
      advice_of(product_of_floats("aten::mm", "[[2048,4096],[4096,1024]]"), "NVIDIA H200");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_THAT(advice[0].command, HasSubstr("dtype=tf32"));
  // 2 * 2048 * 1024 * 4096 operations take 34.7 us at 494.7 TFLOP/s.
  EXPECT_NEAR(static_cast<double>(advice[0].most), 65'270, 100);
  EXPECT_THAT(advice[0].why, Not(HasSubstr("not known")));
}

TEST(TraceReport, ProductsOfFewRowsAreHeldAgainstTheMemory) {
  // B's 4096 x 4096 floats take 14 us at 4.8 TB/s, the operations of 8 rows in TF32 0.5 us.
  const auto advice =
      advice_of(product_of_floats("aten::mm", "[[8,4096],[4096,4096]]"), "NVIDIA H200");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_NEAR(static_cast<double>(advice[0].most), 85'965, 100);
  EXPECT_THAT(advice[0].why, HasSubstr("above the roof"));
}

/// The product of a trace with one, of operands with this PyTorch type, by a kernel of this name.
GemmGroup product_of(const std::string& type, const std::string& kernel) {
  const std::string types = "\"" + type + "\",\"" + type + "\"";
  const Timeline timeline = timeline_of(kineto_text(
      host_event("cpu_op", "aten::mm", "0", "5",
                 R"("External id":1,"Input Dims":[[64,32],[32,16]],"Input type":[)" + types + "]") +
      "," + gpu_event("kernel", kernel, "10", "100", R"("External id":1)")));
  const auto gemms = report_trace(TraceIndex(timeline)).devices.front().gemms;
  return gemms.size() == 1 ? gemms.front() : GemmGroup();
}

TEST(GemmGroups, MathAndLayoutAreThoseOfTheKernel) {
  EXPECT_EQ(product_of("float", "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4").math,
            "tf32");
  EXPECT_EQ(product_of("float", "volta_sgemm_128x64_nn").math, "f32");
  EXPECT_EQ(product_of("c10::Float8_e4m3fn", "my_gemm").layout, "TN");
  EXPECT_EQ(product_of("c10::BFloat16", "my_gemm").layout, "");
  EXPECT_EQ(product_of("c10::BFloat16", "gemm m=64 bf16*bf16->bf16 NT bias").layout, "NT");
  for (const char* name : {"gemm ->bf16 ..", "gemm ->bf16 NTX", "gemm ->bf16 N", "gemm ->bf16 "}) {
    EXPECT_EQ(product_of("c10::BFloat16", name).layout, "") << name;
  }
}

TEST(GemmGroups, AKernelMayHaveTheShapesItself) {
  const Timeline timeline = timeline_of(kineto_text(
      gpu_event("kernel", "nvjet_sm90_tst_192x16_64x8_1x1_v_bz_TNT", "10", "100",
                R"("Input Dims":[[16,4096],[4096,24576]],"Input type":["bf16","bf16"])")));
  const auto gemms = report_trace(TraceIndex(timeline)).devices.front().gemms;
  ASSERT_EQ(gemms.size(), 1u);
  EXPECT_EQ(gemms[0].problem.m, 16u);
  EXPECT_EQ(gemms[0].problem.n, 24576u);
  EXPECT_EQ(gemms[0].problem.k, 4096u);
  EXPECT_EQ(gemms[0].problem.type, "bf16");
  EXPECT_EQ(gemms[0].layout, "TN");
}

TEST(TraceReport, APeakThatIsNotKnownIsSaidToBe) {
  const auto advice =
      advice_of(product_of_floats("aten::mm", "[[2048,4096],[4096,1024]]"), "another GPU");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_THAT(advice[0].why, HasSubstr("which is not known for all"));
}

TEST(TraceReport, AProductOfTwoKernelsCountsOnce) {
  const Timeline timeline = timeline_of(kineto_text(
      product_of_floats("aten::mm", "[[2048,4096],[4096,1024]]") + "," +
      gpu_event("kernel", "cublasLt::splitKreduce_kernel<32>", "120", "10", R"("External id":1)")));
  const TraceReport report = report_trace(TraceIndex(timeline));
  ASSERT_EQ(report.devices.front().gemms.size(), 1u);
  EXPECT_EQ(report.devices.front().gemms[0].count, 1u);
  EXPECT_EQ(report.devices.front().gemms[0].median, 110'000);
}

TEST(TraceReport, CommandsHaveOnlyWhatTuneTakes) {
  EXPECT_THAT(advice_of(product_of_floats("aten::bmm", "[[70000,2,3],[70000,3,4]]"), "NVIDIA H200"),
              testing::IsEmpty());
}

TEST(TraceReport, OnlyKernelsThatAreShortAreToBeFused) {
  const auto advice = advice_of(gpu_event("kernel", "gelu_kernel", "0", "4") + "," +
                                    gpu_event("kernel", "gelu_kernel", "10", "4") + "," +
                                    gpu_event("kernel", "gelu_kernel", "20", "80"),
                                "NVIDIA H200");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_THAT(advice[0].why, HasSubstr("2 kernels shorter than 5 us"));
  EXPECT_EQ(advice[0].most, 8'000);
}

TEST(TraceReport, NoGainExceedsTheSpan) {
  const auto advice = advice_of(gpu_event("kernel", "gelu_kernel", "0", "4", "", "1") + "," +
                                    gpu_event("kernel", "gelu_kernel", "0", "4", "", "2"),
                                "NVIDIA H200");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_EQ(advice[0].most, 4'000);
}

TEST(TraceReport, MemsetsAreNotCopiesFromTheHost) {
  EXPECT_THAT(advice_of(gpu_event("gpu_memset", "Memset (Device)", "0", "9") + "," +
                            gpu_event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", "10", "9"),
                        "NVIDIA H200"),
              testing::IsEmpty());
}

TEST(DeviceSteps, RanksThatNameTheSameStepsHaveTheirOwn) {
  // Rank 0 launches in its step while rank 1's has begun too.
  const auto rank = [](const std::string& host, const std::string& gpu, const std::string& begin) {
    std::string events = host_event("user_annotation", "ProfilerStep#1", begin, "50", "", host);
    for (const char* const time : {"31", "40"}) {
      const std::string launch = "\"correlation\":" + host + time;
      events += "," + host_event("cuda_runtime", "cudaLaunchKernel", time, "1", launch, host) +
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" + gpu +
                ",\"tid\":7,\"ts\":" + time + "0,\"dur\":9,\"args\":{" + launch + "}}";
    }
    return events;
  };
  const Timeline timeline =
      timeline_of(kineto_text(rank("9", "0", "0") + "," + rank("10", "1", "35")));
  const TraceIndex index(timeline);
  EXPECT_EQ(device_steps(index, index.devices().at("0")).size(), 1u);
  const auto steps = device_steps(index, index.devices().at("1"));
  ASSERT_EQ(steps.size(), 1u) << "the launch at 31 is in no step of its process";
  EXPECT_EQ(steps.front().window.begin, 400'000);
}

TEST(DeviceTimes, PausesOfAssaysOwnRecorderAreNoIdleTimeOfTheProgram) {
  const std::string events =
      host_event("user_annotation", "ProfilerStep#1", "0", "10") + "," +
      host_event("user_annotation", "ProfilerStep#2", "90", "10") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "1", "1", "\"correlation\":1") + "," +
      host_event("cuda_runtime", "cudaLaunchKernel", "91", "1", "\"correlation\":2") + "," +
      gpu_event("kernel", "k", "5", "5", "\"correlation\":1") + "," +
      gpu_event("kernel", "k", "95", "5", "\"correlation\":2");
  const auto late = [&](const std::string& own) {
    const Timeline timeline =
        timeline_of("{\"schemaVersion\":1," + own + "\"traceEvents\":[" + events + "]}");
    const TraceIndex index(timeline);
    const auto& work = index.devices().at("0");
    const DeviceTimes times = device_times(index, work);
    EXPECT_EQ(times.between_steps + times.recorder_pauses, 85'000);
    return std::vector<std::int64_t>{
        times.host_late,   device_steps(index, work).front().times.span,
        times.span,        times.idle,
        times.longest_gap, times.between_steps};
  };
  EXPECT_THAT(late(""), ElementsAre(85'000, 90'000, 95'000, 85'000, 85'000, 85'000));
  EXPECT_THAT(late("\"assay\":[\"recorded\"],"), ElementsAre(0, 5'000, 10'000, 0, 0, 0));
}

}  // namespace
}  // namespace assay
