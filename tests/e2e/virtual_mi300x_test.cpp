// What the unchanged binary does on the virtual MI300X.
#include "e2e/virtual_mi300x.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "e2e/campaign_study.h"
#include "e2e/json_lines.h"
#include "e2e/served.h"
#include "support/one_cpu.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class VirtualMi300x : public OnVirtualMi300x {
 protected:
  /// A cell of `memory` that is small enough for an emulator.
  std::vector<std::string> memory(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {
        "run", "memory",      "op=copy", "dtype=f64", "size=64KiB", "cache=hot", "--device",
        "hip", "--telemetry", "off",     "--budget",  "20s",        "--out",     store()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string store() const { return folder_.path() / "store"; }
  /// The stored records that can be read.
  std::vector<Json> stored() const {
    const Outcome shown = assay_run({"show", store(), "--json"});
    EXPECT_EQ(shown.err, "");
    return json_lines(shown.out);
  }
  static Json hip_of(const std::string& devices) {
    for (const Json& backend : Json::parse(devices)) {
      if (backend["backend"] == "hip") return backend;
    }
    return {};
  }
};

TEST_F(VirtualMi300x, OccupancyOfAllKernelsNamesThoseOfOtherArchitectures) {
  const Outcome outcome = on({"occupancy", "--kernel", "all", "--device", "hip"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("triad"));
  EXPECT_THAT(outcome.out,
              HasSubstr(" has no flash_backward_wgmma_128_bf16, flash_backward_wgmma_128_f16"));
}

/// A tiny decoder behind HTTP generates, as gfx942 machine code, the tokens that a CPU does, on one
/// partition and on two that share it.
TEST_F(VirtualMi300x, AServerGeneratesTheTokensOfTheCpu) {
  const OneCpu one_cpu;
  const auto generated = [&](const std::string& device, const char* ranks) {
    const std::string program = device == "cpu" ? ASSAY_BINARY : script;
    std::vector<std::string> words = tiny_serve({"--device", device, "--tensor-parallel", ranks});
    *std::ranges::find(words, "1L2H1K16D32C48F300V") = "1L2H2K16D32C48F300V";
    Process server(words, device == "cpu" ? Process::Environment() : environment(), "", program);
    const auto ports = ports_of(server, 1);
    EXPECT_EQ(ports.size(), 1u) << server.error_text();
    if (ports.empty()) return Json();
    const std::string reply =
        ask(ports[0], post("/v1/completions",
                           R"({"prompt":[7,8,9,250],"max_tokens":32,"return_token_ids":true})"));
    return Json::parse(body_of(reply), nullptr, false)["choices"][0]["token_ids"];
  };
  const Json tokens = generated("hip", "1");
  EXPECT_EQ(tokens.size(), 32u);
  EXPECT_EQ(tokens, generated("cpu", "1"));
  EXPECT_EQ(tokens, generated("hip", "2"));
}

/// A tiny GPT trains end to end as gfx942 machine code, with the losses that a CPU has.
TEST_F(VirtualMi300x, TrainingHasTheLossesOfTheCpu) {
  for (const char* precision : {"precision=f32", "precision=bf16", "precision=f16"}) {
    const std::vector<std::string> words = {
        "run",     "train",  "model=1L2H64C97V", "batch=2", "sequence=16", "steps=26",
        precision, "--json", "--telemetry",      "off",     "--device"};
    const auto losses = [&](const std::string& device) {
      std::vector<std::string> all = words;
      all.push_back(device);
      const Outcome outcome = device == "cpu" ? assay_run(all) : on(all);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      const std::vector<Json> records = json_lines(outcome.out);
      return records.empty() ? std::vector<double>()
                             : records[0]["curves"][0]["y"].get<std::vector<double>>();
    };
    const std::vector<double> here = losses("cpu"), there = losses("hip");
    ASSERT_GE(there.size(), 5u);
    ASSERT_GE(here.size(), 5u);
    const double tolerance = precision == std::string("precision=f32") ? 1e-4 : 1e-3;
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(there[i], here[i], tolerance) << precision;
  }
}

/// A tiny Llama is fine-tuned on packed documents as gfx942 machine code, all of it and adapters.
TEST_F(VirtualMi300x, FinetuningHasTheLossesOfTheCpu) {
  for (const char* mode : {"mode=full", "mode=lora"}) {
    const char* const rank = mode == std::string("mode=lora") ? "rank=8" : "rank=none";
    for (const char* precision : {"precision=f32", "precision=bf16"}) {
      const std::vector<std::string> words = {"run",       "finetune",    "model=1L2H1K32D64C97V",
                                              "batch=2",   "sequence=96", "steps=6",
                                              mode,        rank,          precision,
                                              "rate=1e-2", "--json",      "--telemetry",
                                              "off",       "--device"};
      const auto losses = [&](const std::string& device) {
        std::vector<std::string> all = words;
        all.push_back(device);
        const Outcome outcome = device == "cpu" ? assay_run(all) : on(all);
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        const std::vector<Json> records = json_lines(outcome.out);
        return records.empty() ? std::vector<double>()
                               : records[0]["curves"][0]["y"].get<std::vector<double>>();
      };
      const std::vector<double> here = losses("cpu"), there = losses("hip");
      ASSERT_GE(there.size(), 5u);
      ASSERT_GE(here.size(), 5u);
      const double tolerance = precision == std::string("precision=f32") ? 1e-4 : 1e-2;
      for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(there[i], here[i], tolerance) << mode << " " << precision;
      }
    }
  }
}

/// In FP8, as gfx942 encodes it. Its codes are others than the CPU's, whose largest is 448 and not
/// 240.
TEST_F(VirtualMi300x, FinetuningInFp8HasTheLossesOfTheCpu) {
  for (const char* mode : {"mode=full", "mode=lora"}) {
    const char* const rank = mode == std::string("mode=lora") ? "rank=8" : "rank=none";
    const std::vector<std::string> words = {
        "run",          "finetune",    "model=1L2H1K32D64C96F97V",
        "batch=2",      "sequence=96", "steps=6",
        mode,           rank,          "rate=1e-2",
        "products=fp8", "--json",      "--telemetry",
        "off",          "--device"};
    const auto record = [&](const std::string& device) {
      std::vector<std::string> all = words;
      all.push_back(device);
      const Outcome outcome = device == "cpu" ? assay_run(all) : on(all);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      const std::vector<Json> records = json_lines(outcome.out);
      return records.empty() ? Json() : records[0];
    };
    const Json here = record("cpu"), there = record("hip");
    ASSERT_EQ(there["status"], "passed") << there.value("reason", "");
    EXPECT_THAT(there["notes"].value("fp8", ""), HasSubstr("gradients e5m2_fnuz"));
    EXPECT_THAT(there["notes"].value("products", ""), HasSubstr("hipblaslt"));
    const auto losses = [](const Json& of) {
      return of["curves"][0]["y"].get<std::vector<double>>();
    };
    ASSERT_GE(losses(there).size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(losses(there)[i], losses(here).at(i), 0.02) << mode << " " << i;
    }
  }
}

/// Where a graph's events are not recorded, the times of operations are missing, and only these.
TEST_F(VirtualMi300x, TrainingPassesWithoutEventsInGraphs) {
  const std::vector<std::string> words = {"run",         "train",   "model=1L2H64C97V", "batch=2",
                                          "sequence=16", "steps=6", "graph=on",         "--json",
                                          "--telemetry", "off",     "--device",         "hip"};
  for (const char* fault : {"", "no_graph_events"}) {
    const std::vector<Json> records = json_lines(on(words, {{"MI300X_FAULT", fault}}).out);
    ASSERT_EQ(records.size(), 1u);
    ASSERT_EQ(records[0]["status"], "passed") << records[0].value("reason", "");
    const std::string metrics = records[0]["metrics"].dump();
    const std::string note = records[0]["notes"].value("operation_times", "");
    if (*fault == 0) {
      EXPECT_THAT(metrics, HasSubstr("time_forward"));
      EXPECT_EQ(note, "");
    } else {
      EXPECT_THAT(metrics, Not(HasSubstr("time_forward")));
      EXPECT_THAT(note, HasSubstr("not known: hip:0: "));
    }
  }
}

/// Ranks on two partitions of one GPU, however they share the work, and on two GPUs: the losses of
/// one CPU on the batches of both.
TEST_F(VirtualMi300x, RanksTrainWithTheLossesOfTheCpu) {
  const auto record_of = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<Json> records = json_lines(outcome.out);
    return records.empty() ? Json() : records[0];
  };
  const auto words = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"run",         "train",   "model=1L2H64C97V", "batch=2",
                                    "sequence=16", "steps=6", "precision=f32",    "--json",
                                    "--telemetry", "off"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Json alone = record_of(assay_run(words({"--device", "cpu", "accumulate=2"})));
  const auto losses = alone["curves"][0]["y"].get<std::vector<double>>();
  struct Way {
    const char *parallel, *mode;
  };
  for (const auto& [parallel, mode] : {Way{"ddp", "CPX/NPS4"}, Way{"zero1", "CPX/NPS4"},
                                       Way{"fsdp", "CPX/NPS4"}, Way{"ddp", "SPX/NPS1"}}) {
    const std::string way = std::string(parallel) + " " + mode;
    const Json record = record_of(on(words({"--device", "hip", "--ranks", "2", "library=rccl",
                                            std::string("parallel=") + parallel, "--out", store()}),
                                     {{"MI300X_MODE", mode}, {"MI300X_THREADS", "1"}}));
    ASSERT_EQ(record["status"], "passed") << way << record.value("reason", "");
    EXPECT_EQ(record["device"]["partition"], mode) << way;
    const std::string first = record["ranks"][0]["device"], second = record["ranks"][1]["device"];
    const auto address = [](const std::string& device) { return device.substr(device.find(' ')); };
    EXPECT_NE(first, second) << way;
    EXPECT_EQ(address(first) == address(second), std::string_view(mode).starts_with("CPX")) << way;
    const auto there = record["curves"][0]["y"].get<std::vector<double>>();
    ASSERT_GE(there.size(), losses.size()) << way;  // ranks warm up longer
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(there[i], losses[i], 1e-4) << way;
  }
}

TEST_F(VirtualMi300x, DevicesAndFingerprintAgree) {
  for (const auto& [mode, count] : {std::pair{"SPX/NPS1", 8}, {"CPX/NPS4", 64}}) {
    const Process::Environment environment = {{"MI300X_MODE", mode}};
    const Outcome listed = on({"devices", "--json"}, environment);
    ASSERT_EQ(listed.status, 0) << listed.err;
    const Json hip = hip_of(listed.out);
    ASSERT_EQ(hip["devices"].size(), static_cast<std::size_t>(count)) << listed.out;
    std::set<std::string> addresses, ids;
    std::uint64_t memory = 0;
    for (const Json& device : hip["devices"]) {
      EXPECT_EQ(device["emulated"], true);
      EXPECT_EQ(device["partition"], mode);
      EXPECT_EQ(device["name"], "AMD Instinct MI300X");
      addresses.insert(device["pci"]);
      ids.insert(device["uuid"]);
      memory += device["memory_bytes"].get<std::uint64_t>();
    }
    EXPECT_EQ(addresses.size(), 8u);
    EXPECT_EQ(ids.size(), 8u);
    const Outcome taken = on({"fingerprint", "--json"}, environment);
    ASSERT_EQ(taken.status, 0) << taken.err;
    const std::string text = Json::parse(taken.out).dump();
    for (const std::string& address : addresses) EXPECT_THAT(text, HasSubstr(address));
    EXPECT_THAT(text, HasSubstr("0x000000b1"));  // the firmware of tests/machines
    EXPECT_NEAR(static_cast<double>(memory), 8 * 206141652992.0, 64);
  }
}

TEST_F(VirtualMi300x, TheDoctorSeesItsGpus) {
  const Outcome outcome = on({"doctor"});
  EXPECT_THAT(outcome.out, HasSubstr("MI300X")) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("renderD128 does not")));
}

TEST_F(VirtualMi300x, MemoryRunsAndIsRight) {
  const Outcome outcome = on(memory());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("model "), HasSubstr("nothing was measured")));
  const auto records = stored();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], "passed");
  EXPECT_EQ(records[0]["device"]["emulated"], true);
  EXPECT_FALSE(fs::exists(cache() / "assay/choices"));
}

/// gfx942's own fp8 is the FNUZ form, which its instructions read.
TEST_F(VirtualMi300x, TokensAreDecodedFromItsOwnFp8) {
  const Outcome outcome = on({"run", "decode", "model=1L2H1K16D32C48F131V", "quantization=fp8",
                              "context=18", "precision=bf16", "--device", "hip", "--telemetry",
                              "off", "--budget", "10s", "--out", store()});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto records = stored();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], "passed");
  EXPECT_EQ(records[0]["notes"]["codes"], "e4m3_fnuz");
  EXPECT_EQ(records[0]["notes"]["inputs"], "e4m3_fnuz, a factor per token");
}

TEST_F(VirtualMi300x, EightRanksReduceThroughRccl) {
  const Outcome outcome =
      on({"run", "collective", "op=all_reduce", "dtype=bf16", "size=64KiB", "place=out",
          "launch=stream", "library=rccl", "--ranks", "8", "--device", "hip", "--telemetry", "off",
          "--budget", "60s", "--out", store()},
         {{"MI300X_THREADS", "1"}});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto records = stored();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["status"], "passed");
  EXPECT_EQ(records[0].value("ranks", Json()).size(), 8u);
}

/// By one kernel and, above 512 KiB, by copies; ranks map each other's memory.
TEST_F(VirtualMi300x, RanksAddUpThroughEachOthersMemory) {
  const Outcome outcome =
      on({"run", "collective", "op=all_reduce", "dtype=bf16", "size=16KiB,544KiB", "place=out",
          "launch=stream", "library=peer", "--ranks", "3", "--device", "hip", "--telemetry", "off",
          "--budget", "120s", "--out", store()},
         {{"MI300X_THREADS", "1"}});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto records = stored();
  ASSERT_EQ(records.size(), 2u);
  for (const Json& record : records) EXPECT_EQ(record["status"], "passed");
}

/// A token of one sequence, which is computed by products of a vector, and of two; passes and their
/// exchange are one graph.
TEST_F(VirtualMi300x, RanksShareADecoder) {
  for (const char* library : {"rccl", "peer"}) {
    const Outcome outcome =
        on({"run", "tensor_parallel", "model=1L4H2K16D64C96F300V", "tokens=20", "batch=1,2",
            "precision=bf16", std::string("library=") + library, "--ranks", "2", "--device", "hip",
            "--telemetry", "off", "--budget", "120s", "--out", store() + library},
           {{"MI300X_THREADS", "1"}});
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    const std::vector<Json> records =
        json_lines(assay_run({"show", store() + library, "--json"}).out);
    ASSERT_EQ(records.size(), 2u);
    for (const Json& record : records) {
      EXPECT_EQ(record["status"], "passed") << record["reason"];
      EXPECT_THAT(record["verification"]["method"].get<std::string>(),
                  HasSubstr("all ranks bit for bit"));
    }
  }
}

TEST_F(VirtualMi300x, MatricesMultiplyThroughBothLibraries) {
  for (const char* library : {"hipblaslt", "rocblas"}) {
    const Outcome outcome =
        on({"run", "gemm", "shape=64x48x80", "dtype=bf16", std::string("library=") + library,
            "--device", "hip", "--telemetry", "off", "--budget", "20s", "--out", store()});
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  }
  EXPECT_EQ(stored().size(), 2u);
}

TEST_F(VirtualMi300x, PeersCopy) {
  const Outcome outcome =
      on({"run", "peer", "size=64KiB", "engine=copy", "from=0", "to=1", "--device", "hip",
          "--telemetry", "off", "--budget", "20s", "--out", store()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

/// Each fault gives one line that names it, and leaves a readable store.
TEST_F(VirtualMi300x, FaultsAreNamedAndTheStoreStays) {
  ASSERT_EQ(on(memory()).status, 0);
  const std::pair<const char*, const char*> faults[] = {
      {"hipMalloc:3:hipErrorOutOfMemory", "out of device memory"},
      {"lost:5", "hipErrorNoDevice|hipErrorDeviceLost|hipErrorUnknown|lost"},
      {"hipModuleLaunchKernel:3:hipErrorIllegalAddress", "hipErrorIllegalAddress"},
  };
  for (const auto& [fault, name] : faults) {
    const Outcome outcome = on(memory(), {{"MI300X_FAULT", fault}});
    EXPECT_NE(outcome.status, 0) << fault;
    EXPECT_THAT(outcome.out + outcome.err, testing::ContainsRegex(name)) << fault;
    for (const Json& record : stored()) {
      if (record["status"] == "passed") continue;
      EXPECT_THAT(record["reason"].get<std::string>(), Not(HasSubstr("\n")));
    }
  }
  EXPECT_EQ(stored()[0]["status"], "passed");
}

TEST_F(VirtualMi300x, AKernelThatHangsEndsTheRunAndTheStoreStays) {
  ASSERT_EQ(on(memory()).status, 0);
  const Outcome outcome = on(memory({"--patience", "15s"}), {{"MI300X_FAULT", "hang:copy_f64"}});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("hip:0 has not finished a step of this cell within 15"));
  const auto records = stored();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["status"], "passed");
  EXPECT_EQ(records[1]["status"], "error");
}

TEST_F(VirtualMi300x, ACampaignOfModesIsOfAModel) {
  const Study study(
      "name: modes\nsuite: memory\naxes: {op: copy, dtype: f64, size: 64KiB, cache: hot}\n"
      "device: hip\ntelemetry: off\nunit_budget: 1s\ncontrol: off\nenvironments:\n"
      "  - {name: spx, kind: command, prefix: [" +
      std::string(script) +
      ", --]}\n"
      "  - {name: cpx, kind: command, prefix: [" +
      std::string(script) +
      ", --], "
      "variables: {MI300X_MODE: CPX/NPS4}}\n");
  const Outcome outcome =
      study.run({"--pairs", "2"},
                {{"ASSAY_BUILD", fs::path(ASSAY_BINARY).parent_path()}, {"MI300X_CACHE", cache()}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("From a model, not measured: "));
}

}  // namespace
}  // namespace assay
