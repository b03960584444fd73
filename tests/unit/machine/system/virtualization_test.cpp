#include "machine/system/virtualization.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "machine/system/capture.h"

namespace assay {
namespace {

constexpr const char* host_root = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";

/// A machine of a few files, variables and answers.
Virtualization of(Json capture) {
  capture["format"] = "assay-capture";
  capture["version"] = 1;
  // A file that has text exists.
  const Json files = capture.value("files", Json::object());
  for (const auto& [path, text] : files.items()) capture["links"][path] = path;
  const auto machine = machine_from_capture(capture);
  EXPECT_TRUE(machine.ok()) << machine.error().message;
  return read_virtualization(**machine);
}

TEST(Virtualization, APlainHostIsNeither) {
  const Virtualization host = of({{"files", {{"proc/self/mountinfo", host_root}}},
                                  {"answers", {{"namespaces", {{"pid", 4026531836u}}}}}});
  EXPECT_EQ(host.container, "");
  EXPECT_EQ(host.hypervisor, "");
  EXPECT_TRUE(host.namespaces.empty());
}

TEST(Virtualization, ContainersByTheMarksOfTheirEngines) {
  const std::string overlay = "600 500 0:99 / / rw - overlay overlay rw,lowerdir=";
  const std::string hosts = "601 600 8:1 /hosts /etc/hosts rw - ext4 /dev/sda rw\n";
  const auto container = [](const Json& capture) { return of(capture).container; };
  EXPECT_EQ(container({{"files",
                        {{".dockerenv", ""}, {"proc/self/mountinfo", overlay + "x\n" + hosts}}}}),
            "docker");
  EXPECT_EQ(container({{"files", {{"run/.containerenv", ""}}}}), "podman");
  EXPECT_EQ(container({{"variables", {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}}}), "kubernetes");
  EXPECT_EQ(container({{"files", {{".singularity.d", ""}}}}), "apptainer");
  EXPECT_EQ(container({{"files", {{"run/systemd/container", "lxc\n"}}}}), "lxc");
  EXPECT_EQ(container({{"files", {{"proc/1/comm", "bwrap\n"}, {".dockerenv", ""}}}}), "bubblewrap");
  EXPECT_EQ(container({{"files",
                        {{"proc/self/mountinfo", "64 42 0:39 /newroot / rw - tmpfs tmpfs rw\n"}}}}),
            "bubblewrap");
  EXPECT_EQ(
      container(
          {{"files",
            {{"proc/self/mountinfo", overlay + "/run/containerd/io.containerd.snapshotter\n"}}}}),
      "containerd");
  EXPECT_EQ(container({{"files", {{"proc/1/cgroup", "0::/kubepods/besteffort\n"}}}}), "kubernetes");
  EXPECT_EQ(
      container({{"files", {{"proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n"}}}}),
      "chroot");
}

TEST(Virtualization, ADiskThatWasOnceAnImageIsNoContainer) {
  EXPECT_EQ(of({{"files", {{".dockerenv", ""}, {"proc/self/mountinfo", host_root}}}}).container,
            "");
  const Json files = {{".dockerenv", ""}};
  EXPECT_EQ(of({{"files", files}}).container, "docker");
  const Json answers = {{"namespaces", {{"mnt", 4026531832u}}}};
  EXPECT_EQ(of({{"files", files}, {"answers", answers}}).container, "");
}

TEST(Virtualization, NamespacesWithoutASignature) {
  const Virtualization unshared =
      of({{"files", {{"proc/self/mountinfo", host_root}}},
          {"answers", {{"namespaces", {{"pid", 4026532178u}, {"user", 4026531837u}}}}}});
  EXPECT_EQ(unshared.container, "unnamed");
  EXPECT_EQ(unshared.namespaces, std::vector<std::string>{"pid"});
}

TEST(Virtualization, BubblewrapThatSharesProcessesIsAnAncestor) {
  Json files = {{"proc/self/mountinfo", host_root},
                {"proc/self/status", "Name:\tassay\nPid:\t30\nPPid:\t20\n"},
                {"proc/20/status", "Name:\tsh\nPid:\t20\nPPid:\t10\n"},
                {"proc/10/status", "Name:\tbwrap\nPid:\t10\nPPid:\t1\n"}};
  const Json own = {{"namespaces", {{"mnt", 4026532178u}}}};
  EXPECT_EQ(of({{"files", files}, {"answers", own}}).container, "bubblewrap");
  const Json first = {{"namespaces", {{"mnt", 4026531832u}}}};
  EXPECT_EQ(of({{"files", files}, {"answers", first}}).container, "");
  files["proc/10/status"] = "Name:\tsshd\nPid:\t10\nPPid:\t20\n";  // a cycle ends the search
  EXPECT_EQ(of({{"files", files}, {"answers", own}}).container, "");
}

TEST(Virtualization, MountsOfItsOwnAloneAreAService) {
  const Virtualization service = of({{"files", {{"proc/self/mountinfo", host_root}}},
                                     {"answers", {{"namespaces", {{"mnt", 4026532178u}}}}}});
  EXPECT_EQ(service.container, "");
  EXPECT_EQ(service.namespaces, std::vector<std::string>{"mnt"});
}

TEST(Virtualization, Hypervisors) {
  const auto hypervisor = [](const Json& capture) { return of(capture).hypervisor; };
  EXPECT_EQ(hypervisor({{"answers", {{"hypervisor", "KVMKVMKVM"}}}}), "kvm");
  EXPECT_EQ(hypervisor({{"answers", {{"hypervisor", "Microsoft Hv"}}}}), "hyper-v");
  EXPECT_EQ(hypervisor({{"answers", {{"hypervisor", "VMwareVMware"}}}}), "vmware");
  EXPECT_EQ(hypervisor({{"files", {{"sys/hypervisor/type", "xen\n"}}}}), "xen");
  EXPECT_EQ(
      hypervisor({{"answers", {{"hypervisor", "KVMKVMKVM"}}},
                  {"files", {{"proc/cmdline", "pci=off virtio_mmio.device=4K@0xd0000000:5\n"}}}}),
      "firecracker");
  EXPECT_EQ(hypervisor({{"files", {{"proc/cpuinfo", "flags : fpu hypervisor avx2\n"}}}}),
            "unknown");
  EXPECT_EQ(hypervisor({{"answers", {{"hypervisor", 7}}}}), "");  // not a text
}

}  // namespace
}  // namespace assay
