"""assay as tests of ReFrame: reframe -C SETTINGS.py -c assay_checks.py -r

`Sound` fails on a node where `assay health --quick` finds something bad. `Rates` measures cells and gives
ReFrame their medians; set `reference` to what a partition must reach. Needs `assay` on PATH of the jobs.
"""
import reframe as rfm
import reframe.utility.sanity as sn


class AssayTest(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "assay"
    exclusive_access = True


@rfm.simple_test
class Sound(AssayTest):
    descr = "the machine's setup and its fastest lines"
    executable_opts = ["health", "--quick"]

    @sanity_function
    def nothing_failed(self):
        return sn.assert_eq(self.job.exitcode, 0)


@rfm.simple_test
class Rates(AssayTest):
    descr = "bandwidth of memory"
    executable_opts = ["run", "memory", "op=copy", "dtype=f64", "size=1GiB", "--json", "--out", "-", "--budget", "20s"]

    @sanity_function
    def verified(self):
        return sn.assert_found(r'"status":"passed"', self.stdout)

    @performance_function("B/s")
    def bandwidth(self):
        return sn.extractsingle(r'"quantity":"bandwidth"[^}]*"median":([-+.\deE]+)', self.stdout, 1, float)
