#include "results/traces/anonymous/anonymous_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/read_file.h"
#include "results/traces/anonymous/known_words.h"
#include "support/temporary_folder.h"
#include "support/trace_text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Everything that PyTorch's profiler writes, in a few events.
constexpr std::string_view everything = R"json({
"schemaVersion": 1, "traceName": "/tmp/libkineto_activities_9.json", "trace_id": "B4826447790147448E9C459AADE9641D",
"username": "alice", "INFO": ["INFO:2024 1074:1074 CuptiActivityProfiler.cpp:914] x"],
"metadata": {"system": {"uname": {"node": "a39ca6b8f513"}}, "pip_packages": ["absl-py==2.3.1"]},
"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "uuid": "GPU-0f1"}],
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 1, "nccl_version": "2.21.5",
  "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 2, "ranks": [0, 1]}],
  "master_addr": "10.1.2.3"},
"displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000, "cuda_runtime_version": 12040,
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1.500, "dur": 90, "args": {}},
{"ph": "X", "cat": "user_annotation", "name": "train customer", "pid": 9, "tid": 9, "ts": 2, "dur": 9,
  "args": {"External id": 2, "kernel_file": "/tmp/a.py", "kernel_backend": "triton", "Call stack": "main.py(3)"}},
{"ph": "X", "cat": "user_annotation", "name": "execute_context_1(12)_generation_0(0)", "pid": 9, "tid": 9, "ts": 2, "dur": 9},
{"ph": "X", "cat": "python_function", "name": "main.py(3): run", "pid": 9, "tid": 9, "ts": 2, "dur": 9,
  "args": {"Python id": 1, "Python parent id": null, "Python module id": 3}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": "9", "ts": "2.25", "dur": 5, "args": {"External id": 4,
  "Input Dims": [[64, 128], [128, 32], []], "Input type": ["c10::Half", "c10::Half", ""], "Sequence number": 5,
  "Concrete Inputs": ["", "[1, 2]", "alpha"], "Input Strides": [[128, 1], [32, 1]]}},
{"ph": "X", "cat": "cpu_op", "name": "mine::op", "pid": 9, "tid": 9, "ts": 2.5, "dur": 1, "args": {"Input type": ["Mine"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 3, "dur": 1,
  "args": {"correlation": 7, "External id": 4, "kernel": "ncclDevKernel", "src": "0x7f03643e9e00"}},
{"ph": "s", "id": 7, "pid": 9, "tid": 9, "ts": 3, "cat": "ac2g", "name": "ac2g"},
{"ph": "f", "id": "0x7", "pid": 0, "tid": 7, "ts": 8, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "pid": 0, "tid": 7, "ts": 8.123456789, "dur": 20.25,
  "args": {"correlation": 7, "External id": 4, "grid": [8, 1, 1], "block": [256, 1, 1], "Collective name": "allreduce",
  "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "Process Group Name": "0",
  "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "blocks per SM": 1e-05}},
{"ph": "X", "cat": "gpu_user_annotation", "name": "train customer", "pid": 0, "tid": 7, "ts": 8, "dur": 20, "args": {}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": "stream 7", "ts": 30,
  "dur": 2, "args": {"bytes": "64", "kind": "HtoD"}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 33, "dur": 1, "args": {"cuda_sync_kind": "Stream Sync"}},
{"ph": "X", "cat": "my tool", "name": "my event", "pid": "my process", "tid": "my thread", "ts": 33, "dur": 1},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": 4, "args": {"Bytes": 512, "Addr": 94}},
{"ph": "C", "name": "my counter", "pid": 9, "ts": 4, "args": {"value": 1, "my key": 2}},
{"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "python3 train.py"}},
{"ph": "M", "name": "thread_name", "pid": 9, "tid": 9, "args": {"name": "thread 9 (alice)"}},
{"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}},
{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1, "dur": 99, "args": {"Op count": 0}}
]})json";

/// The copy; "error: ..." if there is none.
std::string anonymous(std::string_view text, AnonymousTrace* result = nullptr) {
  constexpr std::size_t part = 50;  // bytes
  TraceStream stream = TraceStream::of(text, "trace.json", part);
  std::string copy;
  const auto done = anonymize_trace(stream, [&](std::string_view more) -> Status {
    copy += more;
    return {};
  });
  if (!done.ok()) return "error: " + done.error().message;
  if (result != nullptr) *result = *done;
  return copy;
}

TEST(AnonymousTrace, AllButNamesOfAnnotationsIsReadAgain) {
  const Timeline before = timeline_of(everything), after = timeline_of(anonymous(everything));
  ASSERT_EQ(before.events().size(), after.events().size());
  ASSERT_GT(before.events().size(), 7u);
  for (std::size_t i = 0; i < before.events().size(); ++i) {
    const TraceEvent &a = before.events()[i], &b = after.events()[i];
    const std::string name(before.text(a.name));
    EXPECT_EQ(a.start, b.start) << name;
    EXPECT_EQ(a.duration, b.duration) << name;
    EXPECT_EQ(a.correlation, b.correlation) << name;
    EXPECT_EQ(a.external, b.external) << name;
    EXPECT_EQ(a.kind, b.kind) << name;
    EXPECT_EQ(before.text(before.lane(a.lane).thread), after.text(after.lane(b.lane).thread));
    EXPECT_EQ(before.text(before.lane(a.lane).process), after.text(after.lane(b.lane).process));
    const EventDetail &x = before.detail(a.detail), &y = after.detail(b.detail);
    EXPECT_EQ(x.grid, y.grid);
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.group_size, y.group_size);
    EXPECT_EQ(before.text(x.shapes), after.text(y.shapes)) << name;
    const std::string types(before.text(x.types));
    EXPECT_EQ(after.text(y.types), types == "[Mine]" ? "[type-1]" : types);
    EXPECT_EQ(before.text(x.collective), after.text(y.collective));
    EXPECT_EQ(before.text(x.data_type), after.text(y.data_type));
    EXPECT_EQ(before.text(x.group), after.text(y.group));
    EXPECT_EQ(after.text(b.name), name == "train customer" ? "annotation-1" : name);
  }
  EXPECT_EQ(before.epoch, after.epoch);
  EXPECT_EQ(before.rank, after.rank);
  EXPECT_EQ(before.world_size, after.world_size);
  EXPECT_EQ(after.devices.at("0").name, "NVIDIA H100 80GB HBM3");
}

TEST(AnonymousTrace, NumbersKeepTheirTextAndTheCopyIsJson) {
  const std::string copy = anonymous(everything);
  const Json json = Json::parse(copy, nullptr, false);
  ASSERT_TRUE(json.is_object()) << copy;
  EXPECT_EQ(json["traceEvents"].size(), 20u);
  for (const char* kept :
       {"8.123456789", "1.500", "1e-05", "\"2.25\"", "1700000000000000000", "\"bp\":\"e\"",
        "[[64,128],[128,32],[]]", "\"0x7f03643e9e00\"", "\"thread 9\"", "PyTorch Profiler (0)",
        "\"Python parent id\":null", "2.21.5", "[memory]", "[\"c10::Half\",\"c10::Half\",\"\"]",
        "[\"type-1\"]", "[\"\",\"[1, 2]\",\"\"]", "cudaLaunchKernel"}) {
    EXPECT_THAT(copy, HasSubstr(kept));
  }
}

TEST(AnonymousTrace, WhatTellsWhereItWasRecordedIsNotInTheCopy) {
  AnonymousTrace result;
  const std::string copy = anonymous(everything, &result);
  for (const char* secret :
       {"/tmp", "B4826447", "alice", "a39ca6", "absl", "GPU-0f1", "10.1.2.3", "main.py", "train",
        "customer", "alpha", "Mine", "my ", "python3", "INFO", "uuid", "metadata"}) {
    EXPECT_THAT(copy, Not(HasSubstr(secret)));
  }
  EXPECT_EQ(result.events, 20u);
  EXPECT_EQ(result.replaced.at("annotation"), 1u);
  EXPECT_EQ(result.left_out.at("kernel_file"), 1u);
}

/// Every text and every key of a JSON value, as pointers to them.
void find_places(const Json& json, const Json::json_pointer& at,
                 std::vector<Json::json_pointer>& texts, std::vector<Json::json_pointer>& keys) {
  if (json.is_string() || json.is_number()) texts.push_back(at);
  if (!json.is_structured()) return;
  std::size_t index = 0;
  for (const auto& [key, value] : json.items()) {
    const Json::json_pointer inside = json.is_object() ? at / key : at / index++;
    if (json.is_object()) keys.push_back(inside);
    find_places(value, inside, texts, keys);
  }
}

TEST(AnonymousTrace, ASecretInAnyPlaceIsNotInTheCopy) {
  const Json sample = Json::parse(everything);
  std::vector<Json::json_pointer> texts, keys;
  find_places(sample, Json::json_pointer(), texts, keys);
  ASSERT_GT(texts.size(), 150u);
  const auto check = [](const Json& planted, const std::string& place) {
    const std::string copy = anonymous(planted.dump());
    EXPECT_THAT(copy, Not(HasSubstr("secret"))) << place;
    EXPECT_TRUE(Json::accept(copy)) << place << copy;
  };
  for (const Json::json_pointer& place : texts) {
    Json planted = sample;
    planted[place] = "/home/secret/a";
    check(planted, place.to_string());
    // A name of code may be any word.
    const std::string last = place.back(),
                      category = place.parent_pointer().empty() ? ""
                                 : sample[place.parent_pointer()].is_object()
                                     ? sample[place.parent_pointer()].value("cat", "")
                                     : "";
    const bool is_code = last == "kernel" ||
                         (last == "name" && (category == "kernel" || category == "cpu_op" ||
                                             category == "cuda_runtime" ||
                                             category == "gpu_memcpy" || category == "cuda_sync"));
    if (is_code) continue;
    planted[place] = "a \"secret\"\n";
    check(planted, place.to_string());
  }
  for (const Json::json_pointer& place : keys) {
    Json planted = sample;
    Json& owner = planted[place.parent_pointer()];
    owner["secret"] = owner[place.back()];
    check(planted, place.to_string());
    owner.erase(place.back());
    if (place.to_string() != "/traceEvents") check(planted, place.to_string());
  }
}

TEST(AnonymousTrace, AddressesAreNoNumbers) {
  for (const char* kept : {"1", "-2.5e9", "0x7f", "[1, 2]", "", "[]", "inf"}) {
    EXPECT_TRUE(is_number_or_list(kept)) << kept;
  }
  for (const char* hidden : {"10.1.2.3", "0xcafe::1", "beef", "1 two", "[10.1.2.3]"}) {
    EXPECT_FALSE(is_number_or_list(hidden)) << hidden;
  }
  EXPECT_TRUE(is_version("2.21.5"));
  EXPECT_FALSE(is_version("10.1.2.3"));
}

TEST(AnonymousTrace, NamesOfCodeHaveNoPaths) {
  for (const char* kept :
       {"void at::native::(anonymous namespace)::f<float>(int*)", "Torch-Compiled Region: 0/1",
        "Torch-Compiled Region: !1/0/2_1", "operator/(a, b)", "operator/", "operator/=<int>",
        "Memcpy DtoD (Device -> Device)", "f<fab::add, a::b>", "::abs", "'lambda at x.cpp:3:1'",
        "Cijk_Ailk_Bljk_HHS_BH_MT64x64x16_MI16x16x1.kd", "f<1.5, 2.25>", "v1.2.3", "1.2.3.4.5"}) {
    EXPECT_TRUE(is_name_of_code(kept)) << kept;
  }
  for (const char* hidden : {"'lambda at /home/a/x.cpp:3:1'",
                             "src/a.py",
                             "~/a",
                             "../a",
                             "/1",
                             "C:\\a",
                             "https://a:8000/",
                             "me@host",
                             "run1/2",
                             "2026/11/30",
                             "Torch-Compiled Region: 0/1 of run1/2",
                             "daten/\xc3\xbc"
                             "bung",
                             "data/$USER",
                             "send to 10.1.2.3",
                             "nccl(10.1.2.3:8000)",
                             "10.1.2.3",
                             "to fe80::1ff:fe23:4567:890a",
                             "[2001:db8::1]:80",
                             "::1",
                             "tcp:10.1.2.3",
                             "store_10.1.2.3",
                             "host 10.1.2.3.",
                             "10.1.2.3.nip.io",
                             "connect:fe80::1",
                             "mac:00:11:22:33:44:55",
                             "on 0c:42:a1:b2:c3:d4"}) {
    EXPECT_FALSE(is_name_of_code(hidden)) << hidden;
  }
}

TEST(AnonymousTrace, StepsStaySteps) {
  const auto named = [](const std::string& name) {
    const std::string copy = anonymous(
        kineto_text("{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" + name + "\"}"));
    return Json::parse(copy, nullptr, false)["traceEvents"][0].value("name", copy);
  };
  EXPECT_EQ(named("ProfilerStep#12"), "ProfilerStep#12");
  EXPECT_EQ(named("ProfilerStep#alice"), "ProfilerStep#annotation-1");
  EXPECT_EQ(named("execute_new_1(7)_cached_0(0)"), "execute_new_1(7)_cached_0(0)");
  EXPECT_EQ(named("execute_3_context_0(sq0sk7)"), "execute_3_context_0(sq0sk7)");
  EXPECT_EQ(named("execute_alice"), "execute_annotation-1");
  EXPECT_EQ(named("execute_1(alice)"), "execute_annotation-1");
}

TEST(AnonymousTrace, WhatIsCutOffOrAnotherFormatHasNoCopy) {
  EXPECT_THAT(anonymous(everything.substr(0, 3000)), HasSubstr("is cut off at byte 3000"));
  EXPECT_THAT(anonymous(std::string(everything) + "{}"), HasSubstr("more text follows"));
  EXPECT_THAT(anonymous("Kernel_Name,Start_Timestamp,End_Timestamp\n"),
              HasSubstr("a trace of tables of rocprofv3 and rocprof, which cannot be made"));
  EXPECT_THAT(anonymous("nothing"), HasSubstr("no trace that assay can read"));
  // The report of another program, with one name in it that traces have, too.
  EXPECT_THAT(anonymous(R"({"test_info":{"schemaVersion":1},"results":{"MsgSize":65536}})"),
              HasSubstr("has no events, so no copy was written"));
  std::string deep = "{\"traceEvents\":";
  for (int i = 0; i < 70; ++i) deep += "[";
  EXPECT_THAT(anonymous(deep), HasSubstr("nested more than 64 levels deep"));
}

TEST(AnonymousTrace, TheFileIsNeverReplacedAndNothingIsLeftOfAFailure) {
  const TemporaryFolder folder;
  folder.write("a.json", std::string(everything));
  folder.write("cut.json", std::string(everything.substr(0, 3000)));
  const std::string from = (folder.path() / "a.json").string();
  std::filesystem::create_hard_link(from, folder.path() / "same.json");
  for (const char* to : {"a.json", "same.json"}) {
    const auto refused = anonymize_trace_file(from, folder.path() / to);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("is read and would be replaced"));
  }
  EXPECT_EQ(*read_file(from), everything);
  const std::string cut = (folder.path() / "cut.json").string();
  EXPECT_FALSE(anonymize_trace_file(cut, folder.path() / "b.json").ok());
  ASSERT_TRUE(anonymize_trace_file(from, folder.path() / "c.json").ok());
  ASSERT_TRUE(anonymize_trace_file(from, folder.path() / "c.json.gz").ok());
  std::vector<std::string> files;
  const auto entries = list_folder(folder.path());
  for (const auto& path : *entries) files.push_back(path.filename().string());
  EXPECT_THAT(files, ElementsAre("a.json", "c.json", "c.json.gz", "cut.json", "same.json"));
  EXPECT_EQ(*read_file((folder.path() / "c.json").string()), anonymous(everything));
  TraceStream stream = std::move(TraceStream::open(folder.path() / "c.json.gz")).value();
  EXPECT_EQ(*stream.read_all(1 << 20), anonymous(everything));
}

}  // namespace
}  // namespace assay
