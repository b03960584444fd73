// Ticks and axes that the charts share.

/** Returns the `values` (sorted) that lie at least `gap` pixels apart on an axis of `length` pixels. */
function ticksAmong(values, log, length, gap) {
  const place = (v) => (log ? Math.log(v) : v);
  const least = place(values[0]);
  const span = place(values[values.length - 1]) - least || 1;
  // Starts at the right end: readers look for the largest size.
  const chosen = [];
  let last = Infinity;
  for (let i = values.length - 1; i >= 0; --i) {
    const at = (place(values[i]) - least) / span * length;
    if (last - at < gap) continue;
    chosen.unshift(values[i]);
    last = at;
  }
  return chosen;
}

/** Round numbers in [least, most], about `count` of them. */
function roundTicks(least, most, count) {
  const raw = (most - least) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most * (1 + 1e-12) + 1e-300; ++i) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** Ticks of a logarithmic axis: 1, 2, 5 of each decade, or fewer where there are many decades. */
function logTicks(least, most) {
  const decades = Math.log10(most / least);
  if (decades < 0.7) return roundTicks(least, most, 5);
  const steps = decades > 3 ? [1] : decades > 1.6 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let k = Math.floor(Math.log10(least)); k <= Math.log10(most) + 1; ++k) {
    for (const s of steps) {
      const tick = Number((s * 10 ** k).toPrecision(6));
      if (tick >= least * 0.9999 && tick <= most * 1.0001) ticks.push(tick);
    }
  }
  return ticks;
}

/** The scale of a value axis. Its domain covers `values` and, on a linear axis with `zero`, also 0. */
function valueScale(name, values, log, range, zero) {
  const finite = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let least = Math.min(...finite), most = Math.max(...finite);
  if (!finite.length) [least, most] = [0, 1];
  if (log && least > 0) {
    // Room of 6% at either end.
    const room = Math.max(1.02, (most / least) ** 0.06);
    least /= room;
    most *= room;
  } else {
    const room = (most - least) * 0.06 || Math.abs(most) * 0.05 || 1;
    least = zero && least >= 0 ? 0 : least - room;
    most += room;
  }
  return {name, type: log && least > 0 ? 'log' : 'linear', domain: [least, most], range, zero: false, nice: false};
}

function guideOf(scale, orient, title, ticks, text) {
  return {
    scale: scale.name, orient, title, values: ticks, grid: true, gridOpacity: 1, domain: false, ticks: false,
    encode: {labels: {update: {text: {signal: `${text || 'assayShort'}(datum.value)`}}}},
  };
}

/** `title (unit)` */
function titled(column) {
  return headingText(column);
}

/** Legend of series: colour, dash and mark; as many columns as fit. */
function seriesLegend(keys, width, withMarks) {
  const longest = Math.max(...keys.map((key) => key.length));
  const columns = Math.max(1, Math.min(keys.length, Math.floor(width / (longest * 6.6 + 50))));
  const legend = {labelLimit: Math.max(120, width - 80), stroke: 'colour', orient: 'top', columns, direction: 'horizontal', offset: 6,
                  symbolType: 'stroke', symbolStrokeWidth: 2, strokeDash: 'dash'};
  if (!withMarks) return legend;
  // Dashes would break up the outlines of the marks.
  return {...legend, stroke: undefined, strokeDash: undefined, symbolType: undefined, shape: 'shape', fill: 'colour'};
}

/** Legend of colours alone. */
function colourLegend(keys, width) {
  return {...seriesLegend(keys, width, true), shape: undefined, symbolType: 'square'};
}

/** Scales that distinguish series. */
function seriesScales(keys, theme) {
  // Where colours repeat, dashes and marks differ.
  const pick = (list) => keys.map((_, i) => list[i % list.length]);
  const shifted = (list) => keys.map((_, i) => list[(i + Math.floor(i / list.length)) % list.length]);
  return [
    {name: 'colour', type: 'ordinal', domain: keys, range: pick(theme.series)},
    {name: 'dash', type: 'ordinal', domain: keys, range: shifted(dashes)},
    {name: 'shape', type: 'ordinal', domain: keys, range: shifted(shapes)},
  ];
}

function unique(values) {
  return [...new Set(values)];
}
