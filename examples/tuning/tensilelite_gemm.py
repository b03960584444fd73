"""A matrix product by one kernel of TensileLite with the parameters of the command line; prints its time.

tensilelite_gemm.py INSTRUCTION TILES_M TILES_N WAVES_M DEPTH SPLIT_K MAPPING PREFETCH [M N K]
"""
import csv
import glob
import os
import shlex
import subprocess
import sys
import tempfile

CONFIG = """
GlobalParameters:
  NumElementsToValidate: 1024
  CSVExportWinner: True
  DataInitTypeBeta: 0
  DataInitTypeAlpha: 1
  KernelTime: True
  PreciseKernelTime: False
  NumWarmups: 20
  EnqueuesPerSync: 100
  SyncsPerBenchmark: 1
  SleepPercent: 0
  RotatingBufferSize: 512
BenchmarkProblems:
  -
    - OperationType: GEMM
      DataType: b
      DestDataType: b
      ComputeDataType: s
      HighPrecisionAccumulate: True
      TransposeA: True
      TransposeB: False
      UseBeta: True
      Batched: True
    - InitialSolutionParameters:
      BenchmarkCommonParameters:
        - KernelLanguage: ["Assembly"]
      ForkParameters:
        - MatrixInstruction:
          - [{instruction}, {instruction}, {k_of_instruction}, 1, 1, {tiles_m}, {tiles_n}, {waves_m}, {waves_n}]
        - DepthU: [{depth}]
        - GlobalSplitU: [{split_k}]
        - WorkGroupMapping: [{mapping}]
        - PrefetchGlobalRead: [{prefetch}]
        - PrefetchLocalRead: [1]
        - ScheduleIterAlg: [3]
        - TransposeLDS: [1]
        - SourceSwap: [1]
      BenchmarkJoinParameters:
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [{m}, {n}, 1, {k}]
"""


def main():
    names = ("instruction", "tiles_m", "tiles_n", "waves_m", "depth", "split_k", "mapping", "prefetch")
    values = dict(zip(names, (int(word) for word in sys.argv[1:9]), strict=True))
    values["m"], values["n"], values["k"] = (int(word) for word in sys.argv[9:12]) if len(sys.argv) > 11 else (4096,) * 3
    values["k_of_instruction"] = 16 if values["instruction"] == 16 else 8
    values["waves_n"] = 4 // values["waves_m"]
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.yaml")
        with open(config, "w") as file:
            file.write(CONFIG.format(**values))
        command = shlex.split(os.environ.get("TENSILE", "Tensile")) + [config, os.path.join(folder, "out")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = glob.glob(os.path.join(folder, "out", "2_BenchmarkData", "*CSVWinner.csv"))
        if done.returncode != 0 or not found:
            sys.exit("no valid kernel: " + " ".join(done.stdout.split()[-30:]))
        with open(found[0]) as file:
            row = next(csv.DictReader(file, skipinitialspace=True))
    time = float(row["WinnerTimeUS"])
    if not time > 0:
        sys.exit("no time: WinnerTimeUS is %g" % time)
    print("time: %.6f us" % time)


main()
