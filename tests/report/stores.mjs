// Writes stores with known contents: a campaign of two environments and a control, 200 cells and 30
// pairs, with curves, serving loads, links between devices, telemetry, and names that try to break
// out of the page. The numbers are always the same.
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

/** Uniform in [0, 1): xorshift32. */
function generator(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const KiB = 1024;
const sizes = (first, count) => Array.from({length: count}, (_, i) => {
  let bytes = first * 2 ** i, unit = 0;
  while (bytes >= KiB && bytes % KiB === 0) { bytes /= KiB; ++unit; }
  return {text: bytes + ['', 'KiB', 'MiB', 'GiB', 'TiB'][unit], bytes: first * 2 ** i};
});

/** A rate that rises from a latency bound to a plateau: bytes / (latency + bytes / plateau). */
const rising = (bytes, latency, plateau) => bytes / (latency + bytes / plateau);

/** What is measured: cell, unit, value without noise, and how much slower the container is. */
function cells() {
  const list = [];
  const add = (benchmark, axes, value, more = {}) => list.push({benchmark, axes, value, quantity: 'bandwidth', unit: 'bytes/s', slower: 1, ...more});
  const ops = {copy: 4.2e12, triad: 4.25e12, dot: 4.6e12, read: 4.5e12};
  for (const [op, plateau] of Object.entries(ops)) {
    for (const dtype of ['f32', 'f64']) {
      for (const size of sizes(256 * KiB, 13)) {
        add('memory', {op, dtype, size: size.text}, rising(size.bytes, 2e-6, plateau), {roof: [4.8e12, 'datasheet']});
      }
    }
  }
  for (const op of ['all_gather', 'all_reduce']) {
    for (const size of sizes(8 * KiB * KiB, 12)) {
      // Small messages are slower in the container.
      add('collective', {op, size: size.text}, rising(size.bytes, 5e-5, 3.5e11),
          {roof: [3.84e11, 'links'], slower: 1 + 0.08 / (1 + size.bytes / 2 ** 27)});
    }
  }
  for (let from = 0; from < 8; ++from) {
    for (let to = 0; to < 8; ++to) {
      if (from !== to) add('peer', {from: `gpu${from}`, to: `gpu${to}`, size: '1GiB'}, from >> 2 === to >> 2 ? 4.9e10 : 4.1e10);
    }
  }
  for (const shape of ['4096x4096x4096', '8192x8192x8192', '16384x8192x1280', '16384x1024x8192']) {
    for (const dtype of ['bf16', 'f16']) {
      add('gemm', {shape, dtype}, dtype === 'bf16' ? 6.9e14 : 6.6e14, {quantity: 'flop_rate', unit: 'FLOP/s', roof: [9.894e14, 'datasheet']});
    }
  }
  for (const metric of ['latency', 'submit', 'event_gap']) {
    add('launch', {metric}, 2.1e-6, {quantity: 'latency', unit: 's', slower: 1.03});
  }
  add('hostile', {name: '</script><script>window.broken=1</script>\u2028"\'&<b>', formula: '=1+1'}, 1e9);
  for (const [model, bytes] of [['30M', 3.4e9], ['124M', 4.5e9], ['7B', 7.3e10]]) {
    const parts = {parameters: 0.14, gradients: 0.14, optimizer: 0.29, activations: 0.4, logits: 0.02};
    add('train', {model}, 5e5, {quantity: 'token_rate', unit: 'tokens/s', metrics: [
      ['memory', bytes, 'bytes', 'neither'],
      ...Object.entries(parts).map(([part, share]) => [`memory_${part}`, share * bytes, 'bytes', 'neither']),
      ['memory_by_driver', bytes * 1.01, 'bytes', 'neither'],
    ]});
  }
  for (const load of [4, 8, 16, 32, 64, 128, 256]) {
    const tokens = 9000 * load / (load + 60);
    add('serve', {max_concurrency: String(load)}, 0, {metrics: [
      ['output_throughput', tokens, 'tokens/s', 'higher'],
      ['request_throughput', tokens / 1024, '1/s', 'higher'],
      ['mean_ttft', 0.05 * (1 + load / 40), 's', 'lower'],
      ['p99_ttft', 0.12 * (1 + load / 30), 's', 'lower'],
      ['mean_tpot', load / tokens, 's', 'lower'],
    ]});
  }
  return list;
}

const device = {backend: 'fake', ordinal: 0, name: 'scripted <b>device</b>'};

function telemetry(random, hot) {
  const seconds = [-0.05, 0.05, 0.15, 0.25, 0.35];
  const channel = (unit, value) => ({unit, kind: 'gauge', hardware: '0000:01:00.0', values: seconds.map(value)});
  return {
    interval: 0.1, window: 0.3, summary: {gpus: {}, host: {}},
    cost: {ticks: 5, missed: 0, cpu_seconds: 0.001, longest_read_seconds: 0.001}, seconds,
    channels: {
      'gpu0.clock': channel('Hz', () => (hot ? 1.35e9 : 1.9e9) + 2e7 * random()),
      'gpu0.power': channel('W', () => (hot ? 700 : 420) + 10 * random()),
      'gpu0.temperature': channel('degC', (_, i) => 50 + (hot ? 15 : 0) + i),
    },
  };
}

function record(cell, run, time, random, factor) {
  // Each run has a level of its own, each cell noise of its own.
  const noise = 1 + 0.002 * (random() - 0.5) + 0.004 * (random() - 0.5);
  const base = {schema: 1, run, time, benchmark: cell.benchmark, axes: cell.axes, device, status: 'passed'};
  if (cell.metrics) {
    const metrics = cell.metrics.map(([name, value, unit, better]) => ({name, unit, better, value: value * (better === 'higher' ? noise : 1 / noise)}));
    return {...base, metrics, source: {tool: 'vllm-serving', file: 'serve.json'}, notes: {}, fingerprint: factor > 1 ? 'b' : 'a'};
  }
  const slower = 1 + (cell.slower - 1) * (factor > 1 ? 1 : 0);
  const median = cell.quantity === 'latency' ? cell.value * slower / noise : cell.value / slower * noise;
  const value = {quantity: cell.quantity, unit: cell.unit, median, interval95: [median * 0.998, median * 1.002]};
  if (cell.roof) Object.assign(value, {roof: {rate: cell.roof[0], source: cell.roof[1]}, share: median / cell.roof[0]});
  // The value follows from the samples and the work.
  const seconds = cell.quantity === 'latency' ? median : 1e9 / median;
  const made = {...base, value, work: {bytes: 1e9, flops: 1e9, repetitions: 1, math: 'f32'},
    samples: {time_source: 'device_events', cache_state: 'hot', gated: true, warmup_launches: 5, warmup_stop: 'warm', stop: 'precision', wall_seconds: 0.4,
              seconds: [seconds, seconds], throttled: []},
    verification: {passed: true, method: 'every element', error: 0, tolerance: 0}};
  if (cell.benchmark === 'gemm' || cell.benchmark === 'memory') made.telemetry = telemetry(random, cell.benchmark === 'gemm');
  return {...made, notes: {}, fingerprint: factor > 1 ? 'b' : 'a'};
}

const stamp = (minute) => new Date(Date.UTC(2026, 0, 31, 12, minute)).toISOString();

/** The campaign `folder` with environments host, host-control and container. */
export function writeCampaign(folder, pairs = 30) {
  const all = cells();
  const units = [];
  const factors = {host: 1, 'host-control': 1, container: 1.01};
  const texts = {host: '', 'host-control': '', container: ''};
  let minute = 0;
  for (let pair = 0; pair < pairs; ++pair) {
    Object.keys(factors).forEach((environment, i) => {
      const random = generator(1 + pair * 7 + i * 1001);
      const run = `20260131T12${String(pair).padStart(2, '0')}00Z-000${i}`;
      const begin = Date.UTC(2026, 0, 31, 12, minute++);
      all.forEach((cell, k) => {
        const time = new Date(begin + 400 * (k + 1)).toISOString();
        const line = record(cell, run, time, random, factors[environment]);
        if (pair + 1 < pairs) delete line.telemetry;
        texts[environment] += JSON.stringify(line) + '\n';
      });
      units.push({environment, pair, position: units.length, attempt: 1, run, begin: stamp(minute), end: stamp(minute), seconds: 60, exit_status: 0, complete: true});
    });
  }
  const facts = (container) => ({
    assay: {version: '0.1.0', git: '0123456789ab'}, host: {name: 'node7', kernel: '6.1.0', os: 'Debian GNU/Linux 12'},
    cpu: {model: 'a CPU', cores: 2}, virtualization: container ? {container: 'bubblewrap', namespaces: 'own'} : {container: 'none', namespaces: 'host'},
    cgroup: container ? {cpu_max: '10000 100000'} : {},
    environment: {PATH: container ? '</script><b>' : '/usr/bin'},
  });
  for (const [environment, text] of Object.entries(texts)) {
    mkdirSync(join(folder, environment), {recursive: true});
    writeFileSync(join(folder, environment, 'records.jsonl'), text);
    const container = environment === 'container';
    writeFileSync(join(folder, environment, 'fingerprints.jsonl'), JSON.stringify({id: container ? 'b' : 'a', fingerprint: facts(container)}) + '\n');
  }
  writeFileSync(join(folder, 'plan.yaml'), 'name: report-test\nsuite: quick\nenvironments:\n  - {name: host, kind: host}\n  - {name: container, kind: host}\n');
  writeFileSync(join(folder, 'measure.json'), JSON.stringify({draw: 'pair', measure: []}) + '\n');
  writeFileSync(join(folder, 'units.jsonl'), units.map((unit) => JSON.stringify(unit) + '\n').join(''));
  return {cells: all.length, pairs};
}

/** A store with a void value on a curve, under load and on a link, and copies from the host alone, by operation. */
export function writeVoids(folder) {
  const run = '20260131T120000Z-0000';
  const lines = cells().filter((cell) => cell.benchmark === 'serve' || cell.axes.op === 'copy' && cell.axes.dtype === 'f32' ||
                                         cell.benchmark === 'peer');
  for (const op of ['read', 'write']) {
    for (let to = 0; to < 8; ++to) {
      lines.push({benchmark: 'copy', axes: {op, from: 'host', to: `gpu${to}`}, value: op === 'read' ? 4.1e10 : 5.2e10,
                  quantity: 'bandwidth', unit: 'bytes/s', slower: 1});
    }
  }
  const random = generator(5);
  const records = lines.map((cell) => {
    const line = record(cell, run, stamp(1), random, 1);
    if (cell.axes.size === '4MiB' || cell.axes.from === 'gpu2' && cell.axes.to === 'gpu5') {
      Object.assign(line.value, {roof: {rate: line.value.median / 1.2, source: 'datasheet'}, share: 1.2});
    }
    if (cell.axes.max_concurrency === '64') line.metrics.push({name: 'failed', value: 3, unit: '1', better: 'lower'});
    delete line.telemetry;
    return JSON.stringify(line) + '\n';
  });
  mkdirSync(folder, {recursive: true});
  writeFileSync(join(folder, 'records.jsonl'), records.join(''));
}
