// Charts with a row for each cell or a square for each link.

const ruler = document.createElement('canvas').getContext('2d');

/** Width in pixels of a chart's text. */
function textWidth(text) {
  ruler.font = `11px ${chartFont}`;
  return ruler.measureText(text).width;
}

/** Where row labels go: beside the plot if that leaves at least half of the width, else above each row. */
function rowPlaces(labels, texts, width) {
  const left = Math.ceil(Math.max(...labels.map(textWidth))) + 12;
  const right = Math.ceil(Math.max(...texts.map(textWidth))) + 14;
  const beside = left + right <= 0.6 * width;
  return {beside, left: beside ? left : 0, right: beside ? right : 0, step: beside ? (labels.length > 8 ? 24 : 32) : 42};
}

/** The rows of a chart of bars that its axis can show; the table has all. */
function barRows(chart) {
  const rows = rowsOf(chart.table);
  rows.forEach((row, i) => { row.shown = chart.settings.texts[i]; });
  return rows.filter((row) => row.value !== null && (!chart.settings.log || row.value > 0));
}

/** Blocks of a label and a bar for each environment, one under the other; a label is beside its only bar. */
function barPlaces(chart, width) {
  const rows = barRows(chart);
  // In the order of the report, then what a chart names itself, such as the sum of partitions.
  const named = new Set(rows.map((row) => row.environment));
  const keys = [...new Set([...report.environments.filter((name) => named.has(name)), ...named])];
  const labels = unique(rows.map((row) => row.label));
  rows.forEach((row) => { row.text = row.shown + (keys.length > 1 ? ` ${row.environment}` : ''); });
  const places = rowPlaces(labels, rows.map((row) => row.text), width);
  const beside = places.beside && keys.length === 1;
  let top = 0;
  const heads = [];
  for (const label of labels) {
    heads.push({y: top + 13, text: label});
    if (!beside) top += 18;
    for (const row of rows.filter((candidate) => candidate.label === label)) {
      row.y = top;
      top += 19;
    }
    top += 6;
  }
  return {rows, keys, heads, height: top, left: beside ? places.left : 0};
}

function barsHeight(chart, width) {
  return barPlaces(chart, width).height + 56;
}

function barsSpec(chart, width, theme) {
  const {table, settings} = chart;
  const value = columnOf(table, 'value');
  const {rows, keys, heads, height, left} = barPlaces(chart, width);
  for (const row of rows) {
    row.series = row.environment;
    row.tip = tipOf(row, value);
    if (settings.log && !(row.low > 0)) row.low = row.value;
  }
  const roofs = settings.roofs.map((roof) => ({
    x: roof.value / value.factor, text: `roofline ${significant(roof.value / value.factor)}`}));
  const ends = [...rows.flatMap((row) => [row.low, row.value, row.high]), ...roofs.map((roof) => roof.x)];
  // A bar has no beginning on a logarithmic axis, which therefore has dots.
  const x = valueScale('x', settings.log ? ends : [0, ...ends], settings.log, [left, width], true);
  // Room for the text at the end of the longest bar.
  const longest = Math.max(...rows.map((row) => textWidth(row.text)));
  const room = Math.min(1, (longest + 12) / Math.max(80, width - left - longest));
  x.domain[1] *= settings.log ? (x.domain[1] / x.domain[0]) ** room : 1 + room;
  const colours = {fill: hollowIf({value: theme.paper}, {scale: 'colour', field: 'series'}),
                   stroke: {scale: 'colour', field: 'series'}, tooltip: {field: 'tip'}};
  const mark = settings.log
    ? {type: 'symbol', encode: {update: {
      ...colours, x: {scale: 'x', field: 'value'}, y: {field: 'y', offset: 8.5}, size: {value: 64},
      shape: {scale: 'shape', field: 'series'}, strokeWidth: {value: 1.5}}}}
    : {type: 'rect', encode: {update: {
      ...colours, x: {scale: 'x', value: 0}, x2: {scale: 'x', field: 'value'}, y: {field: 'y', offset: 1},
      height: {value: 15}, fillOpacity: {value: 0.85}, strokeWidth: hollowIf({value: 1.5}, {value: 0})}}};
  return {
    ...frame(width, height + 56, theme),
    data: [{name: 'bars', values: rows}, {name: 'heads', values: heads}, {name: 'roofs', values: roofs}],
    scales: [x, ...seriesScales(keys, theme)],
    axes: [guideOf(x, 'bottom', titled(value) + (roofs.length === 1 ? `, dashed: ${roofs[0].text}` : ''),
                   settings.log ? logTicks(...x.domain)
                                : roundTicks(...x.domain, Math.max(2, Math.floor((width - left) / 110))))],
    marks: [
      {type: 'rule', from: {data: 'roofs'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {value: 0}, y2: {signal: 'height'}, stroke: {value: theme.ink},
        strokeDash: {value: [6, 4]}, tooltip: {field: 'text'}}}},
      {...mark, from: {data: 'bars'}},
      {type: 'rule', from: {data: 'bars'}, encode: {update: {
        x: {scale: 'x', field: 'low'}, x2: {scale: 'x', field: 'high'}, y: {field: 'y', offset: 8.5},
        stroke: {value: theme.ink}, strokeWidth: {value: 1.5}}}},
      {type: 'text', from: {data: 'bars'}, encode: {update: {
        x: {scale: 'x', field: 'high', offset: 8}, y: {field: 'y', offset: 12.5}, text: {field: 'text'},
        fill: {value: theme.ink}}}},
      {type: 'text', from: {data: 'heads'}, encode: {update: {
        x: {value: 0}, y: {field: 'y'}, text: {field: 'text'}, fill: {value: theme.ink},
        limit: left ? {value: left} : {signal: 'width'}}}},
    ],
  };
}

/** The bars of a stack: one for each cell and environment, with the places of its parts along it. */
function stacksOf(chart) {
  const stacks = new Map();
  for (const row of rowsOf(chart.table)) {
    const key = row.environment + '\u0000' + row.label;
    if (!stacks.has(key)) stacks.set(key, {environment: row.environment, label: row.label, parts: [], end: 0});
    const stack = stacks.get(key);
    stack.parts.push({...row, begin: stack.end, end: stack.end + row.value});
    stack.end += row.value;
  }
  return [...stacks.values()];
}

function stackHeight(chart) {
  return stacksOf(chart).length * 40 + 96;
}

function stackSpec(chart, width, theme) {
  const value = columnOf(chart.table, 'value');
  const stacks = stacksOf(chart);
  const several = unique(stacks.map((stack) => stack.environment)).length > 1;
  stacks.forEach((stack, i) => {
    stack.y = i * 40;
    const all = `${significant(stack.end)} ${value.shown}`;
    stack.text = [stack.label, several || !stack.label ? stack.environment : '', all].filter(Boolean).join(', ');
    for (const part of stack.parts) {
      part.y = stack.y + 18;
      part.tip = `${stack.text}\n${part.part} ${significant(part.value)} ${value.shown}, ` +
          `${(100 * part.value / stack.end).toFixed(0)}%`;
    }
  });
  const parts = stacks.flatMap((stack) => stack.parts);
  const keys = unique(parts.map((part) => part.part));
  const x = valueScale('x', [0, ...stacks.map((stack) => stack.end)], false, 'width', true);
  return {
    ...frame(width, stackHeight(chart), theme),
    data: [{name: 'parts', values: parts}, {name: 'stacks', values: stacks}],
    scales: [x, ...(chart.settings && chart.settings.work ? [workScale(keys, theme)] : seriesScales(keys, theme))],
    axes: [guideOf(x, 'bottom', titled(value), roundTicks(...x.domain, Math.max(2, Math.floor(width / 110))))],
    legends: [colourLegend(keys, width)],
    marks: [
      {type: 'rect', from: {data: 'parts'}, encode: {update: {
        x: {scale: 'x', field: 'begin'}, x2: {scale: 'x', field: 'end'}, y: {field: 'y'}, height: {value: 16},
        fill: {scale: 'colour', field: 'part'}, stroke: {value: theme.paper}, strokeWidth: {value: 1},
        tooltip: {field: 'tip'}}}},
      {type: 'text', from: {data: 'stacks'}, encode: {update: {
        x: {value: 0}, y: {field: 'y', offset: 13}, text: {field: 'text'}, fill: {value: theme.ink},
        limit: {signal: 'width'}}}},
    ],
  };
}

const proven = (verdict) => verdict !== 'INCONCLUSIVE' && verdict !== 'UNSTABLE';

/** "+46.3% [+29.0, +65.2]", "41 times [39, 43]" */
function changeText(row) {
  if (1 + row.change >= manyTimes) {
    const times = (v) => timesText(1 + v);
    return times(row.change) + ' times' + (row.low === null ? '' : ` [${times(row.low)}, ${times(row.high)}]`);
  }
  const percent = (v) => (v < 0 ? '-' : '+') + Math.abs(100 * v).toFixed(1);
  return percent(row.change) + '%' + (row.low === null ? '' : ` [${percent(row.low)}, ${percent(row.high)}]`);
}

function ratioRows(chart) {
  return rowsOf(chart.table).filter((row) => row.change !== null);
}

function ratioHeight(chart, width) {
  const rows = ratioRows(chart);
  return rows.length * rowPlaces(rows.map((row) => row.label), rows.map(changeText), width).step + 84;
}

function ratioSpec(chart, width, theme) {
  const rows = ratioRows(chart);
  rows.forEach((row) => { row.text = changeText(row); });
  const {beside, left, right, step} = rowPlaces(rows.map((row) => row.label), rows.map((row) => row.text), width);
  const margin = [1 / (1 + chart.settings.margin) - 1, chart.settings.margin];
  // A wide interval is cut off at the edge; otherwise it would squeeze the effects.
  const ends = rows.map((row) => row.change).concat(margin);
  const spread = Math.max(...ends) - Math.min(...ends);
  const cut = (v) => (v === null ? null
    : Math.min(Math.max(v, Math.min(...ends) - 2 * spread), Math.max(...ends) + 2 * spread));
  rows.forEach((row, i) => {
    row.y = i * step + (beside ? step / 2 : 27);
    row.low = cut(row.low);
    row.high = cut(row.high);
    row.tip = `${row.label}\n${row.verdict} ${row.text}`;
    row.ink = proven(row.verdict) ? theme.ink : theme.muted;
  });
  const seen = Object.keys(theme.verdicts).filter((name) => rows.some((row) => row.verdict === name));
  const x = valueScale('x', rows.flatMap((row) => [row.low, row.high]).filter((v) => v !== null).concat(ends),
                       false, [Math.max(left, 14), width - Math.max(right, 14)], false);
  const height = rows.length * step;
  const track = {y: {field: 'y', offset: -step / (beside ? 2 : 3.6)}, y2: {field: 'y', offset: step / (beside ? 2 : 3.6)}};
  const text = (field, more) => ({type: 'text', from: {data: 'rows'}, encode: {update: {
    y: {field: 'y', offset: beside ? 4 : -14}, text: {field}, fill: {field: 'ink'}, ...more}}});
  return {
    ...frame(width, height + 84, theme),
    autosize: {type: 'pad'},
    width, height,
    data: [{name: 'rows', values: rows}, {name: 'bounded', values: rows.filter((row) => row.low !== null)}],
    scales: [
      x,
      {name: 'colour', type: 'ordinal', domain: seen, range: seen.map((name) => theme.verdicts[name])},
      {name: 'fill', type: 'ordinal', domain: seen,
       range: seen.map((name) => (proven(name) ? theme.verdicts[name] : theme.paper))},
      {name: 'shape', type: 'ordinal', domain: seen, range: seen.map((name) => verdictShapes[name])},
    ],
    axes: [{...guideOf(x, 'bottom', '\u2190 less time \u00b7 more time \u2192',
                       roundTicks(...x.domain, Math.max(2, Math.floor((width - left - right) / 70))), 'assayPercent'),
            grid: false, ticks: true}],
    legends: [{stroke: 'colour', fill: 'fill', shape: 'shape', orient: 'top', direction: 'horizontal', offset: 6,
               symbolStrokeWidth: 2, columns: Math.max(1, Math.floor(width / 120))}],
    marks: [
      {type: 'rect', from: {data: 'rows'}, encode: {update: {
        x: {scale: 'x', value: margin[0]}, x2: {scale: 'x', value: margin[1]}, ...track, fill: {value: theme.margin}}}},
      {type: 'rule', from: {data: 'rows'}, encode: {update: {
        x: {scale: 'x', value: 0}, ...track, stroke: {value: theme.muted}, strokeWidth: {value: 1}}}},
      {type: 'rule', from: {data: 'bounded'}, encode: {update: {
        x: {scale: 'x', field: 'low'}, x2: {scale: 'x', field: 'high'}, y: {field: 'y'},
        stroke: {scale: 'colour', field: 'verdict'}, strokeWidth: {value: 2}}}},
      {type: 'symbol', from: {data: 'rows'}, encode: {update: {
        x: {scale: 'x', field: 'change'}, y: {field: 'y'}, size: {value: 70},
        shape: {scale: 'shape', field: 'verdict'}, fill: {scale: 'fill', field: 'verdict'},
        stroke: {scale: 'colour', field: 'verdict'}, strokeWidth: {value: 1.5}, tooltip: {field: 'tip'}}}},
      text('label', {x: {value: 0}, limit: {value: beside ? left : width}}),
      text('text', {x: {value: width}, align: {value: 'right'}}),
    ],
  };
}

/** Cividis: lightness grows with the value, also for colour-blind readers. */
const heatColours = ['#00204d', '#31446b', '#666970', '#958f78', '#cab969', '#ffea46'];

function heatColour(share) {
  const place = Math.min(0.99999, Math.max(0, share)) * (heatColours.length - 1);
  const i = Math.floor(place);
  const parts = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const from = parts(heatColours[i]), to = parts(heatColours[i + 1]);
  return from.map((value, k) => Math.round(value + (to[k] - value) * (place - i)));
}

function heatEnds(table) {
  const natural = new Intl.Collator('en', {numeric: true}).compare;
  const of = (key) => unique(rowsOf(table).map((row) => row[key])).sort(natural);
  return {from: of('from'), to: of('to')};
}

/** Returns the width of the squares: the space that row names leave. */
function heatSide({from, to}, width) {
  const names = Math.min(0.4 * width, Math.max(...from.map(textWidth)));
  return Math.min(46, (width - Math.max(90, names + 50)) / to.length);
}

function heatHeight(chart, width) {
  const ends = heatEnds(chart.table);
  const names = chart.settings.across ? Math.max(...ends.to.map(textWidth)) : 0;  // upright
  return ends.from.length * heatSide(ends, width) + 120 + names;
}

function heatSpec(chart, width, theme) {
  const {table} = chart;
  const value = columnOf(table, 'value');
  const ends = heatEnds(table), {from, to} = ends;
  const rows = rowsOf(table).filter((row) => row.value !== null);
  const values = rows.map((row) => row.value);
  const least = chart.settings.least / value.factor, most = chart.settings.most / value.factor;
  const side = heatSide(ends, width);
  const digits = Math.max(...values.map((v) => significant(v).length));
  for (const row of rows) {
    const rgb = heatColour(most > least ? (row.value - least) / (most - least) : 0.5);
    row.fill = row.fault ? theme.paper : `rgb(${rgb.join(',')})`;
    row.ink = row.fault ? theme.ink : 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 120 ? '#000000' : '#ffffff';
    row.text = side >= digits * 6.2 + 4 ? significant(row.value) : '';
    row.edge = row.odd ? theme.verdicts.SLOWER : row.fault ? theme.muted : null;
    row.tip = `${row.from} \u2192 ${row.to}\n${significant(row.value)} ${value.shown}` +
        (row.fault ? `\nvoid: ${row.fault}` : '');
  }
  const band = (name, domain, range) => ({name, type: 'band', domain, range, padding: 0.04});
  const axis = (scale, orient, title) => ({scale, orient, title, domain: false, ticks: false, labelFontSize: side < 36 ? 9 : 11,
                                          labelLimit: orient === 'left' ? 0.4 * width : 180});
  const across = chart.settings.across;  // what columns are, if their names are long
  const upright = across ? {labelAngle: -90, labelAlign: 'left', labelBaseline: 'middle', labelLimit: 400, maxExtent: 420} : {};
  return {
    ...frame(width, 0, theme),
    autosize: {type: 'pad'},
    width: side * to.length, height: side * from.length,
    data: [{name: 'links', values: rows}],
    scales: [band('x', to, 'width'), band('y', from, 'height'),
             {name: 'heat', type: 'linear', zero: false, range: heatColours,
              domain: heatColours.map((_, i) => least + (most - least || 1) * i / (heatColours.length - 1))}],
    axes: [{...axis('x', 'top', across || 'to'), ...upright}, axis('y', 'left', chart.settings.merged ? '' : 'from')],
    legends: [{fill: 'heat', type: 'gradient', orient: 'bottom', direction: 'horizontal', title: titled(value),
               gradientLength: Math.max(120, Math.min(240, side * to.length)), gradientThickness: 12,
               values: [least, (least + most) / 2, most],
               encode: {labels: {update: {text: {signal: 'assayShort(datum.value)'}}}}}],
    marks: [
      {type: 'rect', from: {data: 'links'}, encode: {update: {
        x: {scale: 'x', field: 'to'}, y: {scale: 'y', field: 'from'}, width: {scale: 'x', band: 1},
        height: {scale: 'y', band: 1}, fill: {field: 'fill'}, stroke: {field: 'edge'},
        strokeWidth: {value: 3}, tooltip: {field: 'tip'}}}},
      {type: 'text', interactive: false, from: {data: 'links'}, encode: {update: {
        x: {scale: 'x', field: 'to', band: 0.5}, y: {scale: 'y', field: 'from', band: 0.5},
        align: {value: 'center'}, baseline: {value: 'middle'}, text: {field: 'text'}, fill: {field: 'ink'}}}},
    ],
  };
}
