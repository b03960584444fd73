// Writes a trace with known contents, as PyTorch's profiler does: three steps of a known GPU, with host
// threads, two streams, a collective, a copy, shapes of matrix products, and a name that tries to break
// out of the page.
import {writeFileSync} from 'node:fs';

export const hostileKernel = '</script><script>window.broken=1</script>';

/** Names of kernels are often longer than a line of a page. */
const longKernel = (i) => `void elementwise_kernel<${i}, ${'a_type_with_a_long_name, '.repeat(8)}>(int)`;

/** `gemmTime` is what a matrix product takes, in us; a step has 40 of them. */
export function writeTrace(file, gemmTime) {
  const events = [];
  let correlation = 0;
  const add = (cat, name, pid, tid, ts, dur, args = {}) => events.push({ph: 'X', cat, name, pid, tid, ts, dur, args});
  const launch = (ts) => {
    add('cuda_runtime', 'hipLaunchKernel', 100, 1, ts, 1, {correlation: ++correlation});
    return {correlation};
  };
  let at = 1000;
  for (let step = 1; step <= 3; ++step) {
    const begin = at;
    const work = (cat, name, tid, dur, args = {}) => {
      add(cat, name, 0, tid, at, dur, {...launch(at - 5), ...args});
    };
    work('gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 9, 20, {bytes: 1 << 20});
    at += 30;
    for (let i = 0; i < 40; ++i) {
      const external = step * 1000 + i;
      add('cpu_op', 'aten::mm', 100, 1, at - 6, 4, {'External id': external, 'Input type': ['c10::BFloat16', 'c10::BFloat16'],
                                                     'Input Dims': [[2048, 1024 * (1 + i % 3)], [1024 * (1 + i % 3), 4096]]});
      work('kernel', 'Cijk_Ailk_Bljk_BBS_BH_MT256x128x64', 7, gemmTime, {'External id': external});
      at += gemmTime + 2;
      work('kernel', i === 3 ? hostileKernel : longKernel(i % 8), 7, 5);
      at += 10;
    }
    work('kernel', 'ncclDevKernel_AllReduce_Sum_bf16', 20, 120);
    at += 150;
    add('user_annotation', `ProfilerStep#${step}`, 100, 1, begin - 10, at - begin - 20);
  }
  writeFileSync(file, JSON.stringify({
    schemaVersion: 1, displayTimeUnit: 'ms', deviceProperties: [{id: 0, name: 'AMD Instinct MI300X', numSms: 304}], traceEvents: events}));
}

/** A trace of a CPU: two steps of two host threads, without work of a GPU. */
export function writeHostTrace(file) {
  const events = [];
  const add = (cat, name, tid, ts, dur) => events.push({ph: 'X', cat, name, pid: 100, tid, ts, dur});
  for (const begin of [1000, 2000]) {
    add('user_annotation', `ProfilerStep#${begin / 1000}`, 1, begin, 900);
    for (let i = 0; i < 20; ++i) {
      add('cpu_op', 'aten::linear', 1, begin + 10 + 40 * i, 35);
      add('cpu_op', 'aten::addmm', 1, begin + 12 + 40 * i, 30);
      add('cpu_op', 'aten::copy_', 2, begin + 15 + 40 * i, 10);
    }
  }
  writeFileSync(file, JSON.stringify({schemaVersion: 1, traceEvents: events}));
}
