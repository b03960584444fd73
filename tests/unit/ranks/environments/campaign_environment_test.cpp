// The words that each kind of environment starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/program.h"
#include "core/read_file.h"
#include "ranks/environments/control_group.h"
#include "ranks/environments/environment.h"
#include "ranks/environments/kinds/container.h"
#include "ranks/environments/shell_words.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

LaunchContext context(GpuAccess gpus = {}) {
  LaunchContext context;
  context.binary = "/opt/assay";
  context.environment = "env";
  context.unit = "assay-1-env";
  context.folder = "/campaign";
  context.gpus = std::move(gpus);
  return context;
}

Result<Launch> launch_of(const std::string& settings, const LaunchContext& where = context()) {
  const YamlValue value = TRY(parse_yaml(settings, "p.yaml"));
  const auto environment = TRY(read_environment(value, "p.yaml", {}));
  return environment->launch({"run", "quick"}, where);
}

std::vector<std::string> words(const std::string& settings,
                               const LaunchContext& where = context()) {
  const auto launch = launch_of(settings, where);
  EXPECT_TRUE(launch.ok()) << (launch.ok() ? "" : launch.error().message);
  return launch.ok() ? launch->words : std::vector<std::string>();
}

TEST(Environments, HostAndCommand) {
  const auto host = launch_of(
      "{kind: host, cpus: '0-1,3', cpu_quota: 10%, memory: 1GiB, "
      "variables: {A: b}}");
  ASSERT_TRUE(host.ok());
  EXPECT_THAT(host->words, ElementsAre("/opt/assay", "run", "quick"));
  EXPECT_THAT(host->variables, ElementsAre(Pair("A", "b")));
  EXPECT_THAT(host->limits.cpus, ElementsAre(0, 1, 3));
  EXPECT_DOUBLE_EQ(host->limits.cpu_quota.value(), 0.1);
  EXPECT_EQ(host->limits.memory_bytes.value(), 1u << 30);
  EXPECT_THAT(words("{kind: command, prefix: [numactl, -N, '0']}"),
              ElementsAre("numactl", "-N", "0", "/opt/assay", "run", "quick"));
}

GpuAccess amd() {
  return {true, false, {"/dev/dri/renderD128", "/dev/dri/renderD129"}, {"44", "109"}};
}
GpuAccess nvidia() {
  return {false, true, {}, {}};
}

TEST(Environments, DockerWithLimitsAndVolumes) {
  EXPECT_THAT(
      words(
          "{kind: container, engine: docker, image: ubuntu, cpus: 0-12, cpu_quota: '1.5', memory: "
          "224GiB, variables: {A: b c}, volumes: ['/x:/y'], options: [--network, host]}"),
      ElementsAre("docker", "run", "--rm", "--name", "assay-1-env", "--cpuset-cpus=0-12",
                  "--cpus=1.5", "--memory=240518168576", "-e", "A=b c", "-v", "/x:/y", "-v",
                  "/opt/assay:/usr/local/bin/assay:ro", "--network", "host",
                  "--entrypoint=/usr/local/bin/assay", "ubuntu", "run", "quick"));
  EXPECT_THAT(launch_of("{kind: container, engine: docker, image: u}")->cleanup,
              ElementsAre("docker", "rm", "-f", "assay-1-env"));
}

std::vector<std::string> words_of_look(const std::string& settings) {
  const auto value = parse_yaml(settings, "p.yaml");
  const auto environment = read_environment(*value, "p.yaml", {});
  const auto look = (*environment)->look("the script", context());
  EXPECT_TRUE(look.ok());
  return look->words;
}

TEST(Environments, ALookRunsAShellWhereAssayWouldStart) {
  EXPECT_THAT(words_of_look("{kind: host}"), IsEmpty());
  EXPECT_THAT(words_of_look("{kind: container, engine: bubblewrap}"), IsEmpty());
  EXPECT_THAT(words_of_look("{kind: container, engine: docker, image: ubuntu}"),
              IsSupersetOf({"--entrypoint=sh", "ubuntu", "-c", "the script"}));
  EXPECT_THAT(words_of_look("{kind: container, engine: apptainer, image: u.sif}"),
              IsSupersetOf({"u.sif", "sh", "-c", "the script"}));
  EXPECT_THAT(words_of_look("{kind: container, engine: bubblewrap, image: /root11}"),
              IsSupersetOf({"/root11", "--", "sh", "-c", "the script"}));
  EXPECT_THAT(words_of_look("{kind: ssh, target: u@h, binary: /opt/assay}"), Contains("ssh"));
}

TEST(Environments, DockerGetsTheMachinesGpus) {
  const std::string docker = "{kind: container, engine: docker, image: i";
  const std::vector<std::string> begin = {"docker", "run", "--rm", "--name", "assay-1-env"};
  const std::vector<std::string> end = {
      "-v",   "/opt/assay:/usr/local/bin/assay:ro", "--entrypoint=/usr/local/bin/assay", "i", "run",
      "quick"};
  const auto with = [&](const std::vector<std::string>& middle) {
    std::vector<std::string> all = begin;
    all.insert(all.end(), middle.begin(), middle.end());
    all.insert(all.end(), end.begin(), end.end());
    return ElementsAreArray(all);
  };
  EXPECT_THAT(words(docker + "}", context(amd())),
              with({"--device=/dev/kfd", "--device=/dev/dri", "--group-add=44", "--group-add=109",
                    "--ipc=host", "--security-opt=seccomp=unconfined"}));
  EXPECT_THAT(words(docker + ", gpus: '1'}", context(amd())),
              with({"--device=/dev/kfd", "--device=/dev/dri/renderD129", "--group-add=44",
                    "--group-add=109", "--ipc=host", "--security-opt=seccomp=unconfined"}));
  EXPECT_THAT(words(docker + "}", context(nvidia())), with({"--gpus=all", "--ipc=host"}));
  EXPECT_THAT(words(docker + ", gpus: '0,2'}", context(nvidia())),
              with({"--gpus=\"device=0,2\"", "--ipc=host"}));
  EXPECT_THAT(words(docker + ", gpus: none}", context(nvidia())), with({}));
  EXPECT_THAT(words(docker + "}", context()), with({}));
  EXPECT_THAT(launch_of(docker + ", gpus: '7'}", context(amd())).error().message,
              HasSubstr("there is no GPU 7; this machine has 2"));
  EXPECT_THAT(launch_of(docker + ", gpus: '0'}", context()).error().message,
              HasSubstr("this one has none"));
}

/// An index that no integer holds is not that of GPU 0.
TEST(Environments, DockerRefusesAnIndexThatIsTooLarge) {
  const LaunchContext where = context(amd());
  const ContainerSettings settings{
      .engine = "docker", .image = "i", .gpus = "99999999999999999999"};
  const auto launch = launch_docker(settings, where, "assay", {});
  ASSERT_FALSE(launch.ok());
  EXPECT_THAT(launch.error().message,
              HasSubstr("there is no GPU 99999999999999999999; this machine has 2"));
}

TEST(Environments, PodmanUsesTheDeviceInterface) {
  EXPECT_THAT(words("{kind: container, engine: podman, image: i, gpus: '1'}", context(nvidia())),
              ElementsAre("podman", "run", "--rm", "--name", "assay-1-env",
                          "--device=nvidia.com/gpu=1", "--security-opt=label=disable", "--ipc=host",
                          "-v", "/opt/assay:/usr/local/bin/assay:ro",
                          "--entrypoint=/usr/local/bin/assay", "i", "run", "quick"));
}

TEST(Environments, ContainersShareTheCache) {
  LaunchContext where = context();
  where.cache = "/home/u/.cache/assay";
  EXPECT_THAT(words("{kind: container, engine: docker, image: i}", where),
              testing::IsSupersetOf(
                  {"/home/u/.cache/assay:/var/cache/assay", "XDG_CACHE_HOME=/var/cache"}));
}

TEST(Environments, Apptainer) {
  EXPECT_THAT(words("{kind: container, engine: apptainer, image: x.sif, gpus: '0', variables: {A: "
                    "b}}",
                    context(amd())),
              ElementsAre("apptainer", "exec", "--containall", "--rocm", "--env", "A=b", "--env",
                          "ROCR_VISIBLE_DEVICES=0", "--bind", "/opt/assay:/usr/local/bin/assay:ro",
                          "x.sif", "/usr/local/bin/assay", "run", "quick"));
  EXPECT_THAT(words("{kind: container, engine: apptainer, image: x.sif}", context(nvidia())),
              testing::Contains("--nv"));
  EXPECT_THAT(words("{kind: container, engine: apptainer, image: x.sif, cpus: 0-1, cpu_quota: "
                    "'1.5', memory: 1GiB}"),
              testing::IsSupersetOf({"--cpuset-cpus=0-1", "--cpus=1.5", "--memory=1073741824"}));
}

TEST(Environments, BubblewrapNeedsNoImage) {
  const auto launch =
      launch_of("{kind: container, engine: bubblewrap, cpu_quota: 50%, variables: {A: b}}");
  ASSERT_TRUE(launch.ok());
  EXPECT_THAT(launch->words,
              ElementsAre("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
                          "--tmpfs", "/tmp", "--ro-bind", "/opt/assay", "/tmp/assay", "--setenv",
                          "A", "b", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                          "--die-with-parent", "--chdir", "/", "--", "/tmp/assay", "run", "quick"));
  EXPECT_DOUBLE_EQ(launch->limits.cpu_quota.value(), 0.5);
  EXPECT_THAT(words("{kind: container, engine: bubblewrap}", context(nvidia())),
              testing::Contains("--dev-bind"));
}

TEST(Environments, MpiSlurmAndPartitions) {
  EXPECT_THAT(words("{kind: mpi, ranks: 16, hostfile: h, options: [--mca, btl_tcp_if_include, "
                    "bond0], variables: {A: b}}"),
              ElementsAre("mpirun", "-n", "16", "--hostfile", "h", "--mca", "btl_tcp_if_include",
                          "bond0", "env", "A=b", "/opt/assay", "run", "quick"));
  EXPECT_THAT(words("{kind: slurm, nodes: 2, tasks: 2, partition: gpu, gpus: '8', broadcast: on, "
                    "options: [--exclusive]}"),
              ElementsAre("srun", "--nodes=2", "--ntasks=2", "--job-name=assay-1-env",
                          "--partition=gpu", "--gpus=8", "--bcast=/tmp/assay-1-env", "--exclusive",
                          "/opt/assay", "run", "quick"));
  EXPECT_TRUE(launch_of("{kind: slurm, tasks: 2}")->needs_token);
  EXPECT_FALSE(launch_of("{kind: slurm}")->needs_token);
  EXPECT_THAT(launch_of("{kind: partition, visible: '3'}", context(amd()))->variables,
              ElementsAre(Pair("ROCR_VISIBLE_DEVICES", "3")));
  EXPECT_THAT(launch_of("{kind: partition, visible: MIG-1}", context(nvidia()))->variables,
              ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "MIG-1")));
  EXPECT_THAT(launch_of("{kind: partition, visible: '3'}").error().message,
              HasSubstr("needs vendor: amd or nvidia"));
  EXPECT_THAT(launch_of("{kind: partition, cpus: '1'}")->limits.cpus, ElementsAre(1));
}

TEST(Environments, SshTellsItsWordsNoVariable) {
  const auto launch = launch_of(
      "{kind: ssh, target: u@h, port: 22007, identity: /k, binary: /far/assay, "
      "options: [-J, jump], variables: {A: it's}}");
  ASSERT_TRUE(launch.ok()) << launch.error().message;
  EXPECT_EQ(launch->input, "{\nexport A='it'\\''s'\nexec /far/assay run quick\n}\n");
  EXPECT_THAT(launch->words,
              ElementsAre("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o",
                          "ServerAliveInterval=15", "-p", "22007", "-i", "/k", "-J", "jump", "--",
                          "u@h", "sh -c 'eval \"$(dd bs=1 count=49 2>/dev/null)\"'"));
  for (const char* name : {"A-B", "1A", "A B", "A;id", "\u00e9"}) {
    const auto refused =
        launch_of(std::string("{kind: ssh, target: h, variables: {'") + name + "': x}}");
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("is not a variable's name"));
    const auto inside = launch_of(std::string("{kind: ssh, target: h, binary: /x, inside: "
                                              "{kind: slurm, variables: {'") +
                                  name + "': x}}}");
    ASSERT_FALSE(inside.ok()) << name;
    EXPECT_THAT(inside.error().message, HasSubstr("is not a variable's name"));
  }
  const TemporaryFolder folder;
  LaunchContext where = context(amd());
  where.binary = folder.write("assay", "the bits");
  const auto inside = launch_of(
      "{kind: ssh, target: h, inside: {kind: container, engine: docker, image: i, gpus: amd, "
      "variables: {HF_TOKEN: hf_secret}}}",
      where);
  ASSERT_TRUE(inside.ok()) << inside.error().message;
  EXPECT_THAT(inside->input, HasSubstr("exec docker run --rm --name assay-1-env --device=/dev/kfd "
                                       "--device=/dev/dri --group-add=video --group-add=render "));
  EXPECT_THAT(inside->input, HasSubstr(" -v \"$HOME\"/.cache/assay/bin/assay-"));
  for (const std::string& word : inside->words) EXPECT_THAT(word, Not(HasSubstr("hf_secret")));
  // ssh inside ssh: what the first far shell leaves is for the second.
  const auto nested = launch_of(
      "{kind: ssh, target: a, inside: {kind: ssh, target: b, binary: /x, variables: {A: b}}}",
      where);
  ASSERT_TRUE(nested.ok()) << nested.error().message;
  EXPECT_THAT(nested->input,
              AllOf(HasSubstr(" -- b 'sh -c "),
                    testing::EndsWith("\n}\n{\nexport A='b'\nexec /x run quick\n}\n")));
}

/// The far login shell may be any; what follows the script is for the program.
TEST(Environments, SshsVariablesComeOutOfEveryShellAsTheyWentIn) {
  const std::vector<std::string> nasty = {"",    "a b",    "it's",   "$HOME",       "`id`", "\\",
                                          "\\n", "a\nb\n", "~/x",    "!1",          "%s",   "\"q\"",
                                          "*",   "\t ",    "\u00e9", "\x81\x88\xff"};
  const TemporaryFolder folder;
  std::string script = "#!/bin/sh\n", expected;
  YamlValue variables;
  variables.kind = YamlValue::Kind::map;
  for (std::size_t i = 0; i < nasty.size(); ++i) {
    script += "printf '<%s>' \"$V" + std::to_string(i) + "\"\n";
    expected += "<" + nasty[i] + ">";
    variables.keys.push_back({"V" + std::to_string(i), 1});
    variables.items.push_back({YamlValue::Kind::text, 1, nasty[i], {}, {}});
  }
  const std::string program =
      folder.write("it's a program", script + "printf '<%s>' \"$@\"\nexec cat\n");
  std::filesystem::permissions(program, std::filesystem::perms(0755));
  YamlValue settings;
  settings.kind = YamlValue::Kind::map;
  const auto set = [&](const char* key, YamlValue value) {
    settings.keys.push_back({key, 1});
    settings.items.push_back(std::move(value));
  };
  set("kind", {YamlValue::Kind::text, 1, "ssh", {}, {}});
  set("target", {YamlValue::Kind::text, 1, "h", {}, {}});
  set("binary", {YamlValue::Kind::text, 1, program, {}, {}});
  set("variables", variables);
  const auto environment = read_environment(settings, "p.yaml", {});
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  const auto launch = (*environment)->launch({"run", "quick"}, context());
  ASSERT_TRUE(launch.ok());
  for (const char* shell : {"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"}) {
    if (!find_program(shell)) continue;
    ProgramStart start;
    start.words = {shell, "-c", launch->words.back()};
    start.input = launch->input + "the rest\n";
    std::string out;
    start.line = [&](std::string_view line) { out += std::string(line) + "\n"; };
    ASSERT_TRUE(run_program(start).ok());
    EXPECT_EQ(out, expected + "<run><quick>the rest\n") << shell;
  }
  // A script that was cut off starts nothing, wherever that was.
  for (std::size_t bytes = 1; bytes + 1 < launch->input.size(); bytes += bytes < 300 ? 60 : 1) {
    ProgramStart start;
    start.words = {"sh", "-c", launch->words.back()};
    start.input = launch->input.substr(0, bytes);
    std::string out;
    start.line = [&](std::string_view line) { out += line; };
    ASSERT_TRUE(run_program(start).ok());
    EXPECT_EQ(out, "") << bytes;
  }
}

TEST(Environments, DstackWritesTheTask) {
  const auto launch = launch_of(
      "{kind: dstack, fleet: {placement: any}, task: {image: 'rocm/dev:6.4', nodes: 2, "
      "volumes: ['/usr/local/lib:/mnt/lib'], resources: {gpu: 'MI300X:8'}}, variables: "
      "{A: b}}");
  ASSERT_TRUE(launch.ok()) << launch.error().message;
  EXPECT_THAT(launch->words, ElementsAre("dstack", "apply", "-y", "-f",
                                         "/campaign/dstack-files/env.task.dstack.yml"));
  ASSERT_EQ(launch->files.size(), 1u);
  const std::string& text = launch->files[0].second;
  const auto task = parse_yaml(text, "task");
  ASSERT_TRUE(task.ok()) << task.error().message << text;
  const auto reader = YamlReader::of(
      *task, "task", "",
      {"type", "name", "image", "nodes", "volumes", "resources", "files", "commands"});
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(*reader->text("type"), "task");
  EXPECT_EQ(*reader->text("image"), "rocm/dev:6.4");
  EXPECT_THAT(text, HasSubstr("\"nodes\": 2\n"));
  EXPECT_THAT(*reader->texts("volumes"), ElementsAre("/usr/local/lib:/mnt/lib"));
  EXPECT_THAT(*reader->texts("files"), ElementsAre("/opt/assay:/tmp/assay"));
  EXPECT_THAT(*reader->texts("commands"), ElementsAre("env 'A=b' /tmp/assay run quick"));
}

TEST(Environments, AFleetThatDoesNotFitOnTheDiskIsAnError) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "dstack-files");
  std::filesystem::create_symlink("/dev/full", folder.path() / "dstack-files/env.fleet.dstack.yml");
  LaunchContext where = context();
  where.folder = folder.path();
  const auto settings = parse_yaml("{kind: dstack, fleet: {placement: any}, task: {}}", "p.yaml");
  const auto environment = read_environment(settings.value(), "p.yaml", {});
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  const Status prepared = (*environment)->prepare(where);
  ASSERT_FALSE(prepared.ok());
  EXPECT_THAT(prepared.error().message, HasSubstr("No space left on device"));
}

TEST(ShellWords, ComeOutOfAShellAsTheyWentIn) {
  const std::vector<std::string> nasty = {
      "",  "plain", "a b", "it's", "$HOME", "`id`", "\\", "a\nb", "\"q\"",      "*",
      "~", "a;b",   "&&",  "#x",   "-n",    "\t",   "''", "é",    "{\"a\":[1]}"};
  ProgramStart start;
  start.words = {"sh", "-c",
                 "for word in " + shell_words(nasty) + "; do printf '<%s>\\n' \"$word\"; done"};
  std::string out, expected;
  start.line = [&](std::string_view line) { out += std::string(line) + "\n"; };
  ASSERT_TRUE(run_program(start).ok());
  for (const std::string& word : nasty) expected += "<" + word + ">\n";
  EXPECT_EQ(out, expected);
  EXPECT_EQ(shell_word("~/a b"), "\"$HOME\"/'a b'");
  const auto split = split_shell_words(shell_words(nasty));
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(*split, nasty);
}

TEST(ShellWords, OfACommandAsOneText) {
  const auto words =
      split_shell_words(" serve  --port {port}\t'a \"b\\'\"c \\\"d\\e\"f\\ g '' $X;*");
  ASSERT_TRUE(words.ok());
  EXPECT_THAT(*words, ElementsAre("serve", "--port", "{port}", "a \"b\\c \"d\\ef g", "", "$X;*"));
  EXPECT_THAT(*split_shell_words("'a\\\\b'"), ElementsAre("a\\\\b"));
  EXPECT_TRUE(split_shell_words("  ")->empty());
  for (const char* open : {"a 'b", "a \"b'", "\"a\\\""}) {
    EXPECT_FALSE(split_shell_words(open).ok()) << open;
  }
}

TEST(Limits, ListsOfCpus) {
  EXPECT_THAT(parse_cpu_list("0-2,8,4-4"), ElementsAre(0, 1, 2, 4, 8));
  for (const char* text : {"", "a", "3-", "-3", "2-1", "1,,2", "0-99999999", "1;2"}) {
    EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
  }
}

TEST(Limits, ControlGroupsLimitWhatJoinsThem) {
  const std::string name = fmt::format("assay-test-{}", ::getpid());
  ResourceLimits limits;
  limits.cpu_quota = 0.1;
  auto groups = ControlGroups::make(limits, name);
  if (!groups.ok()) GTEST_SKIP() << groups.error().message;
  ProgramStart start;
  start.control_groups = groups->process_files();
  ASSERT_FALSE(start.control_groups.empty());
  // Keeps a CPU busy for some tenths of a second, far longer than one period's quota.
  start.words = {"sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"};
  EXPECT_TRUE(run_program(start).ok());
  const std::string file = start.control_groups.front();
  const std::string statistics =
      read_file(std::filesystem::path(file).parent_path() / "cpu.stat").value_or("");
  EXPECT_THAT(statistics, testing::ContainsRegex("nr_throttled [1-9]"));
  *groups = ControlGroups();
  groups = Error{ErrorKind::failed, "gone"};
  EXPECT_NE(::access(file.c_str(), F_OK), 0) << "the group is left behind";
}

}  // namespace
}  // namespace assay
