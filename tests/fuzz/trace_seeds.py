#!/usr/bin/env python3
"""Writes small whole traces of every format that is not text, as seeds of the fuzzer: trace_seeds.py FOLDER."""

import gzip
import os
import sqlite3
import struct
import sys

NSYS = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'add'), (3, 'step');
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 132);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, streamId, correlationId, demangledName,
  gridX, gridY, gridZ, blockX, blockY, blockZ, globalPid);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 0, 7, 3, 2, 1, 2, 3, 256, 1, 1, 16777216),
  (8, 12, 0, 8, 4, 2, 1, 2, 3, 256, 1, 1, 33554432);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, "end", deviceId, streamId, correlationId, bytes);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 30, 0, 7, 5, 4096);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, "end", deviceId, streamId, correlationId);
INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (40, 50, 0, 7, 6);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 16777217, 3, 1), (3, 4, 33554433, 4, 1);
CREATE TABLE NVTX_EVENTS (start, "end", globalTid, text, textId, eventType);
INSERT INTO NVTX_EVENTS VALUES (1, 60, 16777217, 'ProfilerStep#1', NULL, 59), (2, 3, 16777217, NULL, 3, 60);
"""

ROCPD = """
CREATE TABLE rocpd_info_agent_1 (id, guid, type, absolute_index, name, product_name);
INSERT INTO rocpd_info_agent_1 VALUES (1, 'g', 'CPU', 0, 'epyc', ''), (2, 'g', 'GPU', 4, 'gfx942', 'MI300X');
CREATE TABLE rocpd_info_kernel_symbol_1 (id, guid, display_name);
INSERT INTO rocpd_info_kernel_symbol_1 VALUES (1, 'g', 'add');
CREATE TABLE rocpd_event_1 (id, guid, correlation_id);
INSERT INTO rocpd_event_1 VALUES (1, 'g', 7), (2, 'g', 8);
CREATE TABLE rocpd_string_1 (id, string);
INSERT INTO rocpd_string_1 VALUES (1, 'hipLaunchKernel'), (2, 'MEMORY_COPY_HOST_TO_DEVICE');
CREATE TABLE rocpd_kernel_dispatch_1 (id, guid, start, "end", agent_id, queue_id, kernel_id, event_id,
  grid_size_x, grid_size_y, grid_size_z, workgroup_size_x, workgroup_size_y, workgroup_size_z);
INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 'g', 5, 9, 2, 1, 1, 1, 512, 1, 1, 256, 1, 1);
CREATE TABLE rocpd_memory_copy_1 (id, guid, start, "end", dst_agent_id, src_agent_id, queue_id, name_id,
  event_id, size);
INSERT INTO rocpd_memory_copy_1 VALUES (1, 'g', 20, 30, 2, 1, 1, 2, 2, 4096);
CREATE TABLE rocpd_region_1 (id, guid, start, "end", pid, tid, name_id, event_id);
INSERT INTO rocpd_region_1 VALUES (1, 'g', 1, 2, 10, 11, 1, 1);
"""

KINETO = b"""{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}, "baseTimeNanoseconds": 1700000000000000000,
"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1.5, "dur": 90, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 2, "dur": 5, "args": {"External id": 4,
"Input Dims": [[64, 128], [128, 32]], "Input type": ["float", "float"]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 3, "dur": 1,
"args": {"correlation": 7, "External id": 4}},
{"ph": "s", "id": 7, "pid": 9, "tid": 9, "ts": 3, "cat": "ac2g", "name": "ac2g"},
{"ph": "B", "name": "b", "cat": "cpu_op", "pid": 9, "tid": 9, "ts": 3}, {"ph": "E", "pid": 9, "tid": 9, "ts": 4},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "pid": 0, "tid": 7, "ts": 8, "dur": 20.25,
"args": {"correlation": 7, "External id": 4, "grid": [8, 1, 1], "block": [256, 1, 1], "Collective name": "allreduce",
"dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2, "Process Group Name": "0"}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 30, "dur": 2, "args": {"bytes": 64}},
{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "GPU 0"}}], "traceName": "/tmp/a.json"}
"""

STEPS = b"""{"unit": "ns", "dropped": 3, "fields": ["begin", "launched", "computed", "end", "prompt", "output",
"running", "waiting"], "steps": [[10, 20, 30, 40, 5, 0, 1, 2], [50, 60, 70, 80, 0, 4, 4, 0], [90, 91, 92, 93, 3, 2, 1, 0]]}
"""

GPU_LOG = b"""[1.0] amdgpu 0000:c6:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32770)
[1.0] amdgpu 0000:c6:00.0: amdgpu: for process python3 pid 3710 thread python3 pid 3710
[1.0] amdgpu 0000:c6:00.0: amdgpu:   in page starting at address 0x00007f1234567000 from IH client 0x1b (UTCL2)
[1.0] amdgpu 0000:c6:00.0: amdgpu: VM_L2_PROTECTION_FAULT_STATUS:0x00301031
[1.0] amdgpu 0000:c6:00.0: amdgpu:      Faulty UTCL2 client ID: TCP (0x8)
[1.0] amdgpu 0000:c6:00.0: amdgpu:      RW: 0x0
Memory access fault by GPU node-2 (Agent handle: 0x55d) on address 0x7f00. Reason: Page not present or supervisor privilege.
NVRM: Xid (PCI:0000:1b:00): 31, pid=1896, name=python3, Ch 00000008, MMU Fault: ACCESS_TYPE_VIRT_WRITE faulted @ 0x7f_12
wave_1: pc=0x7 (kernel_code_entry=0x7 <vector_add(int*)>, kernargs=0x7)
Disassembly for function vector_add(int*):
    code object: file:///app#offset=14309&size=31336
vector_add.cpp:
53          a[i] = b[i];
 => 0x7 <+52>: global_store
"""


def varint(number):
    text = bytearray()
    while number > 127:
        text.append(number & 127 | 128)
        number >>= 7
    text.append(number)
    return bytes(text)


def field(number, value):
    """A field of protobuf: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def perfetto():
    def track(number, name, parent=0):
        return field(60, field(1, number) + field(2, name) + (field(5, parent) if parent else b""))

    def packet(body, sequence=1):
        return field(1, field(10, sequence) + body)

    def slice_event(time, kind, track_number, extra=b""):
        return packet(field(8, time) + field(11, field(9, kind) + field(11, track_number) + extra))

    def flow(number, value):
        return varint(number << 3 | 1) + struct.pack("<Q", value)

    interned = field(1, field(1, 1) + field(2, b"kernel_dispatch")) + field(2, field(1, 1) + field(2, b"add"))
    interned += field(3, field(1, 1) + field(2, b"corr_id")) + field(29, field(1, 1) + field(2, b"[[2,3]]"))
    clock = field(1, field(1, 6) + field(2, 5000)) + field(1, field(1, 1) + field(2, 1700000000000000000))
    relative = field(1, field(1, 64) + field(2, 100) + field(3, 1) + field(4, 1000))
    file = packet(field(13, 1) + field(12, interned)) + packet(field(6, clock + relative) + field(8, 1))
    file += packet(track(1, b"main")) + packet(track(2, b"GPU 2")) + packet(track(3, b"stream 0", 2))
    file += packet(track(4, b"COMPUTE AGENT [1] QUEUE [0]")) + packet(track(5, b"assay's GPUs"))
    file += slice_event(1, 1, 1, field(23, b"hipLaunchKernel") + flow(47, 7)) + slice_event(2, 2, 1)
    arguments = field(4, field(1, 1) + field(3, 7)) + field(4, field(10, b"grid x") + field(3, 64))
    arguments += field(4, field(10, b"Input Dims") + field(17, 1)) + field(4, field(10, b"bytes") + field(3, 99))
    file += slice_event(5, 1, 3, field(10, 1) + field(3, 1) + flow(48, 7) + arguments) + slice_event(9, 2, 3)
    file += slice_event(6, 1, 4, field(23, b"mul") + field(22, b"kernel_dispatch")) + slice_event(12, 2, 4)
    file += slice_event(1, 3, 5, field(23, b"MI300X") + field(4, field(10, b"units") + field(3, 304)))
    defaults = field(59, field(58, 64) + field(11, field(11, 3)))
    return file + packet(defaults + field(58, 64) + field(8, 4) + field(11, field(9, 1) + field(23, b"last")))


def xplane():
    stat = field(1, 1) + field(4, 7)
    event = field(1, 5) + field(2, 100000) + field(3, 50000) + field(4, stat)
    line = field(1, 7) + field(2, b"Stream #7(Kernel)") + field(3, 2) + field(4, event) + field(4, event)
    plane = field(2, b"/device:GPU:1") + field(3, line) + field(3, field(2, b"XLA Ops"))
    plane += field(4, field(1, 5) + field(2, field(1, 5) + field(2, b"add")))
    plane += field(5, field(1, 1) + field(2, field(1, 1) + field(2, b"correlation_id")))
    return field(1, field(2, b"/host:CPU")) + field(1, plane)


def database(path, script):
    if os.path.exists(path):
        os.remove(path)
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA page_size = 512;" + script)
    connection.close()


def main(folder):
    def write(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)

    database(os.path.join(folder, "nsys.sqlite"), NSYS)
    database(os.path.join(folder, "rocpd.db"), ROCPD)
    write("kineto.json", KINETO)
    write("kineto.json.gz", gzip.compress(KINETO, mtime=0) + gzip.compress(b" ", mtime=0))
    write("perfetto.pftrace", perfetto())
    write("xplane.pb", xplane())
    write("steps.json", STEPS)
    write("gpu.log", GPU_LOG)


main(sys.argv[1])
