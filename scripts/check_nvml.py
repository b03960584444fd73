#!/usr/bin/env python3
"""Holds what assay reads from NVML against nvidia-smi, field by field, read right after each other.

    scripts/check_nvml.py [--assay build/assay]

Identity and limits come from `assay fingerprint --json`, readings from `assay watch --json`. What moves
(clock, power, heat) must lie within its tolerance of what nvidia-smi shows just before or just after.
Exit status 1 if a field differs, 2 if nothing could be compared.
"""

import argparse
import json
import subprocess
import sys

MISSING = ("", "n/a", "[n/a]", "[not supported]", "not supported", "[unknown error]", "[insufficient permissions]")


def number(text):
    return float(text.split()[0])


def address(text):
    domain, rest = text.lower().split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def generation(text):
    return {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}[int(text)]


def watts(text):
    return number(text)


def mega(text):
    return number(text) * 1e6


def mebi(text):
    return number(text) * 2**20


def switched(text):
    return text == "Enabled"


# nvidia-smi's field, where assay has it, how nvidia-smi's text reads in assay's unit, tolerance.
FACTS = [
    ("name", "name", str, 0),
    ("uuid", "uuid", str, 0),
    ("serial", "serial", str, 0),
    ("vbios_version", "vbios", str, 0),
    ("driver_version", "driver", str, 0),
    ("pci.bus_id", "pci", address, 0),
    ("pci.device_id", "device_id", lambda text: text[2:6].lower(), 0),
    ("compute_cap", "arch", lambda text: "sm_" + text.replace(".", ""), 0),
    ("inforom.img", "firmware.inforom", str, 0),
    ("inforom.oem", "firmware.inforom_oem", str, 0),
    ("inforom.ecc", "firmware.inforom_ecc", str, 0),
    ("inforom.pwr", "firmware.inforom_power", str, 0),
    ("memory.total", "memory_bytes", mebi, 2**20),
    ("ecc.mode.current", "ecc", switched, 0),
    ("mig.mode.current", "compute_partition", lambda text: "MIG" if text == "Enabled" else None, 0),
    ("enforced.power.limit", "power_cap_watts", watts, 0.5),
    ("power.default_limit", "power_cap_default_watts", watts, 0.5),
    ("power.max_limit", "power_cap_max_watts", watts, 0.5),
    ("clocks.max.sm", "clock_max_hz", mega, 0),
    ("pcie.link.gen.max", "pcie_speed_max_gts", generation, 0),
    ("pcie.link.width.max", "pcie_width_max", int, 0),
]
READINGS = [
    ("clocks.sm", "clock", mega, 60e6),
    ("clocks.mem", "memory_clock", mega, 1e6),
    ("power.draw.instant", "power", watts, 15),
    ("temperature.gpu", "temperature", number, 2),
    ("temperature.memory", "memory_temperature", number, 2),
    ("utilization.gpu", "utilisation", lambda text: number(text) / 100, 0.1),
    ("utilization.memory", "memory_utilisation", lambda text: number(text) / 100, 0.1),
    ("memory.used", "memory_used", mebi, 64 * 2**20),
    ("clocks_event_reasons.active", "throttle_reasons", lambda text: int(text, 16), 0),
    ("pcie.link.gen.current", "pcie_speed", generation, 0),
    ("pcie.link.width.current", "pcie_width", int, 0),
    ("ecc.errors.corrected.volatile.total", "ecc_corrected", int, 0),
    ("ecc.errors.uncorrected.volatile.total", "ecc_uncorrected", int, 0),
]


def ask(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def smi(fields):
    """Rows of nvidia-smi as dictionaries; fields that this driver does not know are left out."""
    fields = list(fields)
    while fields:
        done = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(fields),
                               "--format=csv,noheader,nounits"], capture_output=True, text=True)
        if done.returncode == 0:
            return [dict(zip(fields, map(str.strip, line.split(","))))
                    for line in done.stdout.strip().splitlines()]
        unknown = [field for field in fields if f'"{field}"' in done.stdout + done.stderr]
        if not unknown:
            sys.exit(f"check_nvml: nvidia-smi: {done.stdout}{done.stderr}")
        print(f"nvidia-smi has no field {unknown[0]}")
        fields.remove(unknown[0])
    return []


def at(tree, path):
    for step in path.split("."):
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def agrees(mine, theirs, tolerance):
    if isinstance(mine, bool) or isinstance(mine, str) or mine is None or theirs is None:
        return mine == theirs
    return abs(mine - theirs) <= tolerance


class Table:
    def __init__(self):
        self.compared = self.differing = 0

    def row(self, gpu, field, texts, mine, read, tolerance):
        """`texts`: what nvidia-smi said before and after; one of them must agree."""
        texts = [text for text in texts if text.lower() not in MISSING]
        if not texts:
            verdict = "" if mine is None else "only assay has it"
        else:
            self.compared += 1
            fine = any(agrees(mine, read(text), tolerance) for text in texts)
            self.differing += not fine
            verdict = "ok" if fine else "DIFFERS"
        print(f"{gpu:<6} {field:<40} {' | '.join(dict.fromkeys(texts)) or '-':<44} "
              f"{'-' if mine is None else mine!s:<44} {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assay", default="build/assay")
    options = parser.parse_args()
    fields = [row[0] for row in FACTS + READINGS]
    before = smi(fields)
    watch = ask([options.assay, "watch", "--json", "--count", "1"])
    after = smi(before[0]) if before else []
    fingerprint = ask([options.assay, "fingerprint", "--json"])
    if not before or watch is None or fingerprint is None:
        sys.exit("check_nvml: nvidia-smi, `assay watch` or `assay fingerprint` gave nothing")
    facts = {gpu.get("pci"): gpu for gpu in json.loads(fingerprint)["accelerators"]}
    readings = {}
    for name, channel in json.loads(watch.splitlines()[0])["channels"].items():
        if "hardware" in channel:
            readings.setdefault(channel["hardware"], {})[name.split(".", 1)[1]] = channel["value"]

    table = Table()
    print(f"{'GPU':<6} {'field':<40} {'nvidia-smi':<44} {'assay':<44}")
    for index, (first, second) in enumerate(zip(before, after)):
        pci = address(first["pci.bus_id"])
        for source, rows in ((facts.get(pci, {}), FACTS), (readings.get(pci, {}), READINGS)):
            for field, path, read, tolerance in rows:
                if field not in first:
                    continue
                mine = source.get(path) if rows is READINGS else at(source, path)
                table.row(index, field, [first[field], second[field]], mine, read, tolerance)
    print(f"\n{table.compared} compared, {table.differing} differ")
    sys.exit(2 if table.compared == 0 else 1 if table.differing else 0)


if __name__ == "__main__":
    main()
