// Every kind of environment, with stand-ins for the programs that a test machine lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/json.h"
#include "e2e/campaign_study.h"
#include "support/sanitized.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Stand-ins for the programs that environments start. Each logs its words and starts assay here.
/// If `c_library` is given, "glibc 2.17", that is what getconf says there.
class FakePrograms {
 public:
  explicit FakePrograms(const std::string& c_library = "") {
    if (!c_library.empty()) add("getconf", "#!/bin/sh\necho " + c_library + "\n");
    const std::string note = "#!/bin/sh\nprintf '%s ' \"$(basename $0)\" \"$@\" >> " + log() +
                             "\necho >> " + log() + "\n";
    const std::string find_assay =
        "while [ $# -gt 0 ]; do case \"$1\" in env|*/assay) break;; esac; shift; done\n";
    // Skips its own words up to the image; assay's follow.
    const std::string docker =
        "[ $1 != version ] || exit 0\n[ $1 = run ] || exit 1\n"
        "while [ $# -gt 0 ]; do case \"$1\" in --entrypoint=*) break;; esac; shift; done\n"
        "program=${1#--entrypoint=}\nshift 2\n[ $program != sh ] || exec sh "
        "\"$@\"\nexec " ASSAY_BINARY " \"$@\"\n";
    add("docker", note + docker);
    add("podman", note + docker);
    add("apptainer", note +
                         "while [ $1 != sh ] && [ $1 != /usr/local/bin/assay ]; do shift; done\n[ "
                         "$1 != sh ] || exec \"$@\"\nshift\nexec " ASSAY_BINARY " \"$@\"\n");
    add("mpirun", note + find_assay + "exec \"$@\"\n");
    add("srun",
        note + "echo \"token <$ASSAY_TOKEN>\" >> " + log() + "\n" + find_assay + "exec \"$@\"\n");
    // It does what sshd does: a shell in the user's home folder gets the words as one text.
    add("ssh", note + "while [ $1 != -- ]; do shift; done\nshift 2\ncd $HOME\nexec sh -c \"$*\"\n");
    add("dstack", note +
                      "[ $1 = apply ] || exit 1\n"
                      "grep -q 'type: fleet' $4 && exit 0\necho Submitting the run...\n"
                      "exec sh -c \"$(sed -n '/^commands:/{n;s/^  - \"//;s/\"$//;p}' $4)\"\n");
  }
  Process::Environment environment() const {
    return {{"PATH", folder_.path().string() + ":" + std::getenv("PATH")},
            {"HOME", home_.path()},
            {"XDG_CACHE_HOME", home_.path() / "cache"}};
  }
  std::string log() const { return folder_.path() / "log"; }
  std::filesystem::path home() const { return home_.path(); }

 private:
  void add(const char* name, const std::string& script) {
    ::chmod(folder_.write(name, script).c_str(), 0755);
  }
  TemporaryFolder folder_, home_;
};

TEST(CampaignCommand, EveryKindOfEnvironmentRuns) {
  const FakePrograms programs;
  const Study study(
      head("control: off\n") +
      "environments:\n"
      "  - {name: host, kind: host, variables: {ASSAY_NOTE: x}}\n"
      "  - {name: docker, kind: container, engine: docker, image: ubuntu, cpus: 0-1}\n"
      "  - {name: podman, kind: container, engine: podman, image: ubuntu}\n"
      "  - {name: apptainer, kind: container, engine: apptainer, image: u.sif}\n"
      "  - {name: mpi, kind: mpi, ranks: 1, variables: {A: b c}}\n"
      "  - {name: slurm, kind: slurm, tasks: 2, partition: gpu}\n"
      "  - {name: vm, kind: ssh, target: u@h, variables: {A: \"it's $HOME\"}}\n"
      "  - {name: vm-docker, kind: ssh, target: u@h,\n"
      "     inside: {kind: container, engine: docker, image: i, gpus: none}}\n"
      "  - {name: dstack, kind: dstack, binary: " ASSAY_BINARY
      ", fleet: {placement: any}, task: {image: i}}\n"
      "  - {name: part, kind: partition, cpus: '0'}\n");
  const Outcome outcome = study.run({"--pairs", "2"}, programs.environment());
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(study.complete().size(), 20u) << outcome.err;
  const std::string log = Process::read(programs.log());
  EXPECT_THAT(log, HasSubstr("docker run --rm --name assay-"));
  EXPECT_THAT(log, HasSubstr("--cpuset-cpus=0-1 "));
  EXPECT_THAT(log, HasSubstr("docker rm -f assay-"));
  EXPECT_THAT(log, HasSubstr("srun --nodes=1 --ntasks=2 "));
  // Its ranks get a secret to share, which no words tell.
  EXPECT_THAT(log, testing::ContainsRegex("token <[0-9a-f]{32}>"));
  EXPECT_THAT(log, Not(HasSubstr("ASSAY_TOKEN")));
  EXPECT_THAT(log, HasSubstr("mpirun -n 1 env A=b c "));
  EXPECT_THAT(log, HasSubstr("ssh -o BatchMode=yes"));
  EXPECT_THAT(log, Not(HasSubstr("it's")));  // ssh's words tell no variable
  EXPECT_THAT(log, HasSubstr("dstack apply -y -f " + (study.out() / "dstack-files").string()));
  // The binary was copied once, under a name made from its content, although two environments need
  // it.
  std::size_t copies = 0;
  for (std::size_t at = log.find("cat >"); at != std::string::npos;
       at = log.find("cat >", at + 1)) {
    ++copies;
  }
  EXPECT_EQ(copies, 1u) << log;
  std::size_t binaries = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(programs.home() / ".cache" / "assay" / "bin")) {
    EXPECT_THAT(entry.path().filename().string(), testing::MatchesRegex("assay-[0-9a-f]{16}"));
    EXPECT_EQ(entry.file_size(), std::filesystem::file_size(ASSAY_BINARY));
    ++binaries;
  }
  EXPECT_EQ(binaries, 1u);
}

TEST(CampaignCommand, APlaceWhoseCLibraryIsTooOldIsNamedBeforeAssayIsTakenThere) {
  const FakePrograms programs("glibc 2.17");
  for (const char* kind :
       {"kind: container, engine: docker, image: centos:7",
        "kind: container, engine: apptainer, image: c.sif", "kind: ssh, target: h"}) {
    const Study study(head("control: off\n") +
                      "environments:\n  - {name: host, kind: host}\n  - {name: old, " + kind +
                      "}\n");
    const Outcome outcome = study.run({"--pairs", "2"}, programs.environment());
    EXPECT_EQ(outcome.status, 4);
    EXPECT_THAT(last_of(outcome.err), AllOf(HasSubstr("environment old: this assay needs glibc 2."),
                                            HasSubstr("glibc there is 2.17")))
        << kind;
    EXPECT_TRUE(study.units().empty()) << kind;
  }
  EXPECT_FALSE(std::filesystem::exists(programs.home() / ".cache/assay/bin"));
}

TEST(Versus, ComparesEnvironmentsFromOneLineAndKeepsItsPlan) {
  const FakePrograms programs;
  const TemporaryFolder folder;
  const std::string out = folder.path() / "out";
  const std::vector<std::string> words = {"versus",
                                          "host",
                                          "docker:ubuntu:24.04",
                                          "vm:u@h",
                                          "docker:b",
                                          "op=copy",
                                          "dtype=f64",
                                          "size=1MiB",
                                          "--suite",
                                          "memory",
                                          "--device",
                                          "fake",
                                          "--unit-budget",
                                          "500ms",
                                          "--pairs",
                                          "2",
                                          "--out",
                                          out};
  const Outcome first = assay_run(words, programs.environment());
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.err,
              HasSubstr("1 cell, in turns in host, docker, vm, docker-2; host is measured "
                        "twice, as host-control too, and compared with itself; 2 pairs\n"));
  EXPECT_THAT(first.out, HasSubstr("assay report " + out + " -o report.html"));
  const std::string log = Process::read(programs.log());
  EXPECT_THAT(log, HasSubstr(" ubuntu:24.04 run memory "));
  EXPECT_THAT(log, HasSubstr(" u@h "));
  for (const char* store : {"host", "host-control", "docker", "docker-2", "vm"}) {
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "out" / store)) << store;
  }
  // Both the same command and the plan that it left continue the campaign.
  const Outcome again = assay_run(words, programs.environment());
  EXPECT_THAT(again.err, HasSubstr("continuing " + out + " after 10 units"));
  const Outcome by_plan = assay_run({"campaign", out + "/plan.yaml", "--out", out, "--pairs", "2"},
                                    programs.environment());
  EXPECT_EQ(by_plan.status, 0) << by_plan.err;
  EXPECT_THAT(by_plan.err, HasSubstr("continuing"));
}

TEST(Versus, WithoutASuiteItMeasuresAFewShortCellsInThreeMinutes) {
  const auto dry = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"versus", "host", "bubblewrap", "--dry-run"});
    return assay_run(more).out;
  };
  EXPECT_THAT(dry({}), AllOf(HasSubstr("first: 6 cells, 10 to 80 pairs"),
                             HasSubstr("/assay run first --out - --seed 1 --budget 0.75s\n"),
                             HasSubstr("at most 3:00 for 80")));
  // These units are as short as they can be, also for a shorter budget.
  EXPECT_THAT(dry({"--budget", "20s"}), HasSubstr(" --budget 0.75s\n"));
  EXPECT_THAT(dry({"--budget", "20s", "--unit-budget", "7s"}), HasSubstr(" --budget 7s\n"));
  EXPECT_THAT(dry({"--suite", "quick"}),
              AllOf(HasSubstr("/assay run quick "), HasSubstr(" --budget 12.8s\n")));
  const std::string cells = assay_run({"run", "first", "--dry-run"}).out;
  EXPECT_THAT(cells, AllOf(HasSubstr("memory op=triad"), HasSubstr("gemm "), HasSubstr("launch ")));
}

TEST(Versus, MeasuresBetweenRanks) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  const Outcome outcome = assay_run(
      {"versus", "host", "host", "--suite", "collective", "op=all_reduce", "size=4KiB", "place=in",
       "--ranks", "2", "--device", "cpu", "--unit-budget", "1s", "--pairs", "2", "--out", out});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* store : {"host", "host-2", "host-control"}) {
    const auto records = json_lines(Process::read(out / store / "records.jsonl"));
    ASSERT_EQ(records.size(), 2u) << store;
    EXPECT_EQ(records[0]["axes"]["ranks"], "2") << store;
    EXPECT_EQ(records[0]["status"], "passed") << store;
  }
  EXPECT_THAT(assay_run({"versus", "host", "vm:h", "--hosts", "n1:2,n2:2", "--suite", "collective",
                         "--dry-run"})
                  .out,
              HasSubstr(" --hosts n1:2,n2:2\n"));
}

TEST(Versus, MeasuresALoad) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "out";
  const Outcome outcome = assay_run({"versus",
                                     "host",
                                     "host",
                                     "--device",
                                     "fake",
                                     "--pairs",
                                     "2",
                                     "--out",
                                     out,
                                     "--",
                                     "load",
                                     "--spawn",
                                     "assay serve-sim --port {port} --ttft 5ms --itl 1ms",
                                     "--servers",
                                     "2",
                                     "--max-concurrency",
                                     "1,2",
                                     "--requests",
                                     "2",
                                     "--output-tokens",
                                     "4",
                                     "--input",
                                     "8"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* store : {"host", "host-2", "host-control"}) {
    const auto records = json_lines(Process::read(out / store / "records.jsonl"));
    ASSERT_EQ(records.size(), 4u) << store;  // both points, in each pair
    EXPECT_EQ(records[0]["axes"]["max_concurrency"], "1") << store;
    EXPECT_EQ(records[0]["notes"]["servers"], "2") << store;
  }
  const std::string plan = Process::read(out / "plan.yaml");
  EXPECT_THAT(plan, AllOf(HasSubstr("\nload: {"), Not(HasSubstr("suite:"))));
  EXPECT_THAT(plan, HasSubstr("\nbudget: \"4h\"\n")) << "a server may take minutes to start";
  const Outcome dry =
      assay_run({"versus", "host", "host", "--out", folder.path() / "dry", "--dry-run", "--",
                 "load", "--url", "http://127.0.0.1:9", "--max-concurrency", "1"});
  EXPECT_THAT(dry.out, HasSubstr("load: 1 cell, 10 to 40 pairs"));
}

TEST(Versus, MistakesAreNamed) {
  const auto err = [](std::vector<std::string> words) {
    words.insert(words.begin(), "versus");
    const Outcome outcome = assay_run(words);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_THAT(
      err({"host", "dokcer:x"}),
      HasSubstr("\"dokcer:x\" is not an environment (did you mean \"docker\"?); allowed: host, "
                "docker:IMAGE, "));
  EXPECT_THAT(err({"host", "docker"}), HasSubstr("\"docker\" is not allowed; write docker:IMAGE"));
  EXPECT_THAT(err({"host", "docker:"}), HasSubstr("write docker:IMAGE"));
  EXPECT_THAT(err({"host", "bubblewrap:"}),
              HasSubstr("\"bubblewrap:\" is not allowed; write bubblewrap or bubblewrap:FOLDER\n"));
  EXPECT_THAT(err({"host:x", "vm:y"}), HasSubstr("\"host:x\" is not allowed; write host\n"));
  EXPECT_THAT(err({"host", "op=copy"}), HasSubstr("at least two environments"));
  EXPECT_THAT(err({"host", "vm:y", "--margin", "7"}), HasSubstr("margin"));
  EXPECT_THAT(err({"host", "vm:y", "--budget", "soon"}), HasSubstr("--budget: bad duration"));
  EXPECT_THAT(err({"host", "vm:y", "--ranks", "0"}), HasSubstr("ranks"));
  EXPECT_THAT(err({"host", "bubblewrap", "--suite", "collective", "--hosts", "a:8,b:8"}),
              HasSubstr("--hosts does not fit bubblewrap: on the other hosts, ranks would run "));
  EXPECT_THAT(err({"host", "vm:y", "--", "load", "--max-concurrency", "1"}),
              HasSubstr("after --: the load needs servers: --url "));
  EXPECT_THAT(err({"host", "vm:y", "--", "--url", "http://h:1", "--out", "x"}),
              HasSubstr("after --: --out is not allowed in a campaign; allowed are --url, "));
  EXPECT_THAT(err({"host", "vm:y", "--", "load", "--url", "http://h:1", "--request", "1"}),
              HasSubstr("after --: load has no option --request (did you mean"));
}

TEST(CampaignCommand, EveryExampleIsAPlan) {
  const Outcome none = assay_run({"campaign", "--example", "contianer"});
  EXPECT_EQ(none.status, 2);
  const std::size_t allowed = none.err.find("allowed: ");
  ASSERT_NE(allowed, std::string::npos) << none.err;
  std::istringstream kinds(none.err.substr(allowed + 9));
  int examples = 0;
  const FakePrograms programs;
  for (std::string kind; kinds >> kind; ++examples) {
    if (kind.back() == ',') kind.pop_back();
    SCOPED_TRACE(kind);
    const TemporaryFolder folder;
    const Outcome example = assay_run({"campaign", "--example", kind});
    ASSERT_EQ(example.status, 0);
    const Outcome planned = assay_run(
        {"campaign", folder.write("plan.yaml", example.out), "--dry-run"}, programs.environment());
    // A partition's vendor is that of the machine's GPUs.
    if (kind == "partition" && planned.status != 0) {
      EXPECT_THAT(planned.err, HasSubstr("needs vendor: amd or nvidia"));
      continue;
    }
    EXPECT_EQ(planned.status, 0) << planned.err;
  }
  EXPECT_EQ(examples, 15);
}

/// Runs assay in `folder`.
Outcome run_in(const std::filesystem::path& folder, const std::vector<std::string>& words,
               Process::Environment environment) {
  std::vector<std::string> all = {"-c", "cd \"$1\" && shift && exec \"$0\" \"$@\"", ASSAY_BINARY,
                                  folder.string()};
  all.insert(all.end(), words.begin(), words.end());
  return Process(all, std::move(environment), "", "/bin/sh").wait();
}

TEST(CampaignStudy, EndsWithItsAnswerAndItsPageAndGoesOn) {
  const FakePrograms programs;
  const TemporaryFolder folder;
  const std::vector<std::string> words = {"campaign", "container", "--device",
                                          "fake",     "--pairs",   "2"};
  const Outcome first = run_in(folder.path(), words, programs.environment());
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("container: docker with ubuntu:24.04; `assay campaign "
                                         "container docker:IMAGE` takes another image"),
                               HasSubstr("left out: RDMA through the adapter: ")));
  EXPECT_THAT(first.out, HasSubstr("\nDoes the container cost anything?\nThe container costs "
                                   "nothing that 2 pairs can show: "));
  const auto study = folder.path() / "campaigns" / "container";
  EXPECT_THAT(first.out, HasSubstr("the page with all of it: campaigns/container/report.html"));
  EXPECT_THAT(Process::read(study / "report.html"), HasSubstr("<b>The container costs nothing"));
  const std::string units = Process::read(study / "units.jsonl");
  // If the command is repeated, it continues with the plan of the folder, whatever is installed by
  // now.
  auto without_docker = programs.environment();
  without_docker["PATH"] = "/usr/bin:/bin";
  const Outcome again =
      run_in(folder.path(), {"campaign", "container", "--pairs", "2"}, std::move(without_docker));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("continuing campaigns/container after 6 units"));
  EXPECT_EQ(Process::read(study / "units.jsonl"), units);
}

TEST(CampaignStudy, ABareNameIsTheStudyAndAPathIsAFile) {
  const FakePrograms programs;
  const TemporaryFolder folder;
  folder.write("container", "name: mine\nsuite: launch\nenvironments: [{name: a, kind: host}]\n");
  const auto dry = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"campaign", "--dry-run"};
    all.insert(all.end(), words.begin(), words.end());
    return run_in(folder.path(), all, programs.environment());
  };
  const Outcome study = dry({"container"});
  EXPECT_THAT(study.err, HasSubstr("container is taken as the study, not as the file of that name "
                                   "here, which is ./container"));
  EXPECT_THAT(study.out, AllOf(HasSubstr("container: 6 cells, "), HasSubstr("docker run --rm"),
                               HasSubstr("expected: ")));
  EXPECT_THAT(dry({"./container"}).out, HasSubstr("mine: "));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "campaigns"));
  EXPECT_THAT(dry({"./container", "--ranks", "2"}).err,
              HasSubstr("--ranks is for studies (container node partition scaling upgrade vm); a "
                        "plan says it itself, as ranks"));
  EXPECT_THAT(dry({"./container", "host"}).err, HasSubstr("a plan takes no further operands"));
  EXPECT_THAT(dry({"scaling", "--ranks", "1"}).err,
              HasSubstr("--ranks \"1\" is not allowed; allowed: whole numbers from 2 to 4096"));
  EXPECT_THAT(dry({"scaling", "--budget", "soon"}).err, HasSubstr("--budget"));
  EXPECT_THAT(
      dry({"vm", "root@vm7", "--", "load", "--spawn", "serve {port}", "--max-concurrency", "8"})
          .out,
      HasSubstr("serve {port}"));
  EXPECT_THAT(dry({}).err, HasSubstr("or a study: container node partition"));
}

TEST(CampaignCommand, BubblewrapIsAnotherEnvironmentByItsFingerprint) {
  if (std::system("bwrap --ro-bind / / --unshare-pid true 2>/dev/null") != 0) {
    GTEST_SKIP() << "bwrap is not installed or may make no namespaces here";
  }
  const Study study(head("control: off\n") +
                    "environments:\n  - {name: a, kind: host}\n"
                    "  - {name: b, kind: container, engine: bubblewrap}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(study.complete().size(), 4u);
  EXPECT_THAT(outcome.out, HasSubstr("virtualization.namespaces"));
}

TEST(CampaignCommand, AStudyOfPartitionsTellsSumAndInterference) {
  const Study study(head() +
                    "environments:\n"
                    "  - {name: p0, kind: partition, cpus: '0'}\n"
                    "  - {name: p1, kind: partition, cpus: '0'}\n"
                    "  - {name: all, kind: host}\n"
                    "study: {each: [p0, p1], whole: all}\n");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(study.complete().size(), 10u) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("worst together: "));
  const Json kept = Json::parse(Process::read(study.out() / "study.json"));
  ASSERT_EQ(kept.size(), 1u);
  // The fake device has virtual time, so partitions do not disturb each other.
  EXPECT_NEAR(kept[0]["parts"][0]["interference"]["ratio"].get<double>(), 1, 0.01);
  EXPECT_NEAR(kept[0]["sum_to_whole"]["ratio"].get<double>(), 2, 0.02);
  for (const auto& entry : std::filesystem::directory_iterator(study.out())) {
    EXPECT_THAT(entry.path().filename().string(), Not(testing::StartsWith("barrier")));
  }
  // Another study compares its partitions with the whole device of this one.
  const Study later(head() +
                    "environments:\n"
                    "  - {name: p0, kind: partition, cpus: '0'}\n"
                    "  - {name: p1, kind: partition, cpus: '0'}\n"
                    "study: {each: [p0, p1], whole: " +
                    (study.out() / "all").string() + "}\n");
  EXPECT_EQ(later.run({"--pairs", "2"}).status, 0);
  const Json then = Json::parse(Process::read(later.out() / "study.json"));
  EXPECT_NEAR(then[0]["whole"].get<double>() / kept[0]["whole"].get<double>(), 1, 0.01);
}

TEST(CampaignCommand, ConclusionsThatDoNotFitOnTheDiskAreAComplaint) {
  const Study study(head() +
                    "environments:\n"
                    "  - {name: p0, kind: partition, cpus: '0'}\n"
                    "  - {name: p1, kind: partition, cpus: '0'}\n"
                    "study: {each: [p0, p1]}\n");
  EXPECT_EQ(study.run({"--pairs", "2"}).status, 0);
  std::filesystem::remove(study.out() / "study.json");
  std::filesystem::create_symlink("/dev/full", study.out() / "study.json");
  const Outcome outcome = study.run({"--pairs", "2"});
  EXPECT_THAT(outcome.err, HasSubstr("study.json cannot be written: No space left on device"));
}

TEST(CampaignCommand, AStudyOfAnEmulatedDeviceSaysThatNothingWasMeasured) {
  const Study study(head() +
                    "environments:\n"
                    "  - {name: p0, kind: partition, cpus: '0'}\n"
                    "  - {name: p1, kind: partition, cpus: '0'}\n"
                    "study: {each: [p0, p1]}\n");
  const Outcome outcome = study.run({"--pairs", "2"}, {{"ASSAY_FAKE", "emulated=1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("p1         model "));
  EXPECT_THAT(outcome.out, HasSubstr("nothing was measured"));
  EXPECT_EQ(Json::parse(Process::read(study.out() / "study.json"))[0]["emulated"], true);
  const Outcome report = assay_run({"report", study.out().string()});
  EXPECT_THAT(report.out, HasSubstr("The device is emulated: every value comes from a model."));
}

TEST(CampaignCommand, AThreadThatCannotBeStartedEndsInOneLine) {
  if (is_sanitized) GTEST_SKIP() << "a sanitizer needs more addresses than the limit leaves";
  const Study study(head() +
                    "environments:\n"
                    "  - {name: p0, kind: partition, cpus: '0'}\n"
                    "  - {name: p1, kind: partition, cpus: '0'}\n"
                    "  - {name: all, kind: host}\n"
                    "study: {each: [p0, p1], whole: all}\n");
  // Two partitions at once need two threads; the addresses hold one of their stacks. The first one
  // runs when the second is refused, so the exception cannot reach main().
  std::vector<std::string> words = {
      "-c", "ulimit -c 0; ulimit -s 1000000; ulimit -v 1500000; exec \"$0\" \"$@\"", ASSAY_BINARY};
  for (const std::string& word : study.words({"--pairs", "2"})) words.push_back(word);
  const Outcome outcome = Process(words, {}, "", "/bin/sh").wait();
  EXPECT_EQ(outcome.status, 4);
  EXPECT_THAT(outcome.err,
              testing::EndsWith("assay: out of memory or threads; free some, or raise the limits "
                                "(ulimit -v, ulimit -u); results so far are stored\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("terminate called")));
  EXPECT_FALSE(study.units().empty()) << "what was measured before is stored";
}

}  // namespace
}  // namespace assay
