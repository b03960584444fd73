// Charts of lines: values over an axis, latency over throughput, readings over time. Each returns a
// Vega specification for a plot of `width` pixels.

const chartHeights = {curve: 300, latency: 300, timeline: 210, roofline: 360};

function frame(width, height, theme) {
  return {
    width, height, padding: 4, autosize: {type: 'fit', contains: 'padding'}, background: theme.paper,
    config: configOf(theme),
  };
}

/** The names of a chart's series: environments if there are several, else lines. */
function seriesOf(rows, several) {
  for (const row of rows) {
    row.series = several ? row.environment : row.line || row.environment;
    row.id = row.environment + '\u0000' + (row.line || '');
  }
  return unique(rows.map((row) => row.series));
}

function tipOf(row, valueColumn) {
  const parts = [row.environment];
  if (row.line) parts.push(row.line);
  const unit = valueColumn.shown ? ' ' + valueColumn.shown : '';
  const interval = row.low !== row.high && row.low !== null
    ? ` [${significant(row.low)}, ${significant(row.high)}]` : '';
  parts.push(`${significant(row.value)}${unit}${interval}`);
  if (row.runs) parts.push(`${row.runs} run${row.runs === 1 ? '' : 's'}`);
  if (row.fault) parts.push(`void: ${row.fault}`);
  return parts.join('\n');
}

/** Horizontal lines with a label above their left end. */
function roofMarks(roofs, valueColumn, theme) {
  const data = roofs.map((roof) => ({
    y: roof.value / valueColumn.factor,
    text: `roofline ${significant(roof.value / valueColumn.factor)} ${valueColumn.shown}` +
          (roof.source ? ` (${roof.source})` : ''),
  }));
  return {
    data: {name: 'roofs', values: data},
    marks: [
      {type: 'rule', from: {data: 'roofs'}, encode: {update: {
        x: {value: 0}, x2: {signal: 'width'}, y: {scale: 'y', field: 'y'},
        stroke: {value: theme.ink}, strokeDash: {value: [6, 4]}, strokeWidth: {value: 1.25}}}},
      {type: 'text', from: {data: 'roofs'}, encode: {update: {
        x: {value: 4}, y: {scale: 'y', field: 'y', offset: -5}, text: {field: 'text'},
        fill: {value: theme.ink}, fontSize: {value: 11}, limit: {signal: 'width - 8'}}}},
    ],
  };
}

/** One encoding for void values, which are hollow, another for all others. */
function hollowIf(hollow, filled) {
  return [{test: 'datum.fault', ...hollow}, filled];
}

/** Band, line and points of each series. */
function seriesMarks(theme, options) {
  const encode = {x: {scale: 'x', field: 'x'}, stroke: {scale: 'colour', field: 'series'}};
  const marks = [];
  if (options.bands) {
    marks.push({type: 'area', encode: {update: {
      x: encode.x, y: {scale: 'y', field: 'low'}, y2: {scale: 'y', field: 'high'},
      fill: {scale: 'colour', field: 'series'}, fillOpacity: {value: 0.18}}}});
  }
  marks.push({type: 'line', encode: {update: {
    ...encode, y: {scale: 'y', field: 'value'}, strokeDash: {scale: 'dash', field: 'series'},
    strokeWidth: {value: options.thin ? 1 : 2}, strokeOpacity: {value: options.thin ? 0.5 : 1},
    defined: {field: 'defined'}}}});
  if (options.points) {
    marks.push({type: 'symbol', encode: {update: {
      ...encode, y: {scale: 'y', field: 'value'}, shape: {scale: 'shape', field: 'series'},
      fill: hollowIf({value: theme.paper}, {scale: 'colour', field: 'series'}), size: hollowIf({value: 64}, {value: options.thin ? 14 : 42}),
      stroke: hollowIf({scale: 'colour', field: 'series'}, {value: theme.paper}),
      strokeWidth: hollowIf({value: 2}, {value: 1}), tooltip: {field: 'tip'}}}});
  }
  return {type: 'group', from: {facet: {name: 'one', data: 'points', groupby: 'id'}},
          marks: marks.map((mark) => ({...mark, from: {data: 'one'}}))};
}

function curveSpec(chart, width, theme) {
  const {settings, table} = chart;
  const height = chartHeights.curve;
  const value = columnOf(table, 'value'), axis = columnOf(table, 'x');
  // The table has what a logarithmic axis cannot show.
  const rows = rowsOf(table).filter((row) => row.value !== null && (!settings.log || row.value > 0) &&
                                             (!settings.x.log || row.x > 0));
  const keys = seriesOf(rows, report.environments.length > 1);
  for (const row of rows) {
    row.defined = true;
    if (settings.log && !(row.low > 0)) row.low = row.value;
    row.tip = tipOf(row, value) + `\n${axis.title} ${axis.kind === 'size' ? sizeText(row.x) : short(row.x)}`;
  }
  const xs = unique(rows.map((row) => row.x)).sort((a, b) => a - b);
  const roofs = roofMarks(settings.roofs, value, theme);
  const y = valueScale('y', rows.flatMap((row) => [row.value, row.low, row.high])
    .concat(roofs.data.values.map((roof) => roof.y)), settings.log, 'height', true);
  // Room for the roofline's label above it.
  if (roofs.data.values.length && settings.log) y.domain[1] *= Math.max(1.03, (y.domain[1] / y.domain[0]) ** 0.07);
  const x = {name: 'x', type: settings.x.log ? 'log' : 'linear', domain: [xs[0], xs[xs.length - 1]],
             range: 'width', zero: false, nice: false, padding: 10};
  const rings = settings.saturation.map((point) => ({
    x: point.x, y: point.value / value.factor,
    series: report.environments.length > 1 ? point.environment : point.line || point.environment,
    text: `90% from ${axis.kind === 'size' ? sizeText(point.x) : short(point.x)}`,
  }));
  const labelled = rings.length <= 2;
  rings.forEach((ring, i) => {
    ring.drop = 22 + 14 * i;
    // A label is right of its ring if there is room, else it ends at the edge.
    const place = (v) => (settings.x.log ? Math.log(v) : v);
    const share = (place(ring.x) - place(xs[0])) / (place(xs[xs.length - 1]) - place(xs[0]));
    ring.shift = Math.min(8, (1 - share) * (width - 70) - textWidth(ring.text));
  });
  // Two labels in the same place would cover each other.
  if (rings.length === 2 && rings[0].x === rings[1].x) rings[1].text = '';
  const many = settings.links && keys.length < unique(rows.map((row) => row.id)).length;
  const manyKeys = keys.length > 16;
  return {
    ...frame(width, height, theme),
    data: [{name: 'points', values: rows}, roofs.data, {name: 'rings', values: rings}],
    scales: [x, y, ...seriesScales(keys, manyKeys ? {...theme, series: [theme.series[0]]} : theme)],
    axes: [
      {...guideOf(x, 'bottom', headingText(axis), ticksAmong(xs, settings.x.log, width - 70, 56),
                  axis.kind === 'size' ? 'assaySize' : 'assayShort'), grid: false, ticks: true, domain: true},
      guideOf(y, 'left', titled(value), settings.log ? logTicks(...y.domain) : roundTicks(...y.domain, 5)),
    ],
    legends: keys.length > 1 && !manyKeys ? [seriesLegend(keys, width, true)] : [],
    marks: [
      ...roofs.marks,
      seriesMarks(theme, {bands: !settings.links, points: true, thin: many || manyKeys}),
      {type: 'symbol', from: {data: 'rings'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, size: {value: 190},
        fill: {value: 'transparent'}, stroke: {scale: 'colour', field: 'series'}, strokeWidth: {value: 1.5}}}},
      {type: 'text', from: {data: 'rings'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, dx: {field: 'shift'}, y: {scale: 'y', field: 'y'}, dy: {field: 'drop'},
        align: {value: 'left'}, fill: {value: theme.ink},
        text: labelled ? {field: 'text'} : {value: ''}, fontSize: {value: 11}}}},
    ],
  };
}

function latencySpec(chart, width, theme) {
  const {settings, table} = chart;
  const throughput = columnOf(table, 'throughput'), latency = columnOf(table, 'latency');
  const rows = rowsOf(table);
  const keys = seriesOf(rows, true);
  for (const row of rows) {
    row.defined = true;
    row.x = row.throughput;
    row.value = row.latency;
    row.tip = tipOf(row, latency) + `\n${settings.load} ${row.load}`;
    // Only the first environment's points are labelled: the others lie close by.
    row.label = row.series === keys[0] ? row.load : '';
  }
  // Only values determine the scale, because an interval that spans orders of magnitude would hide the points.
  const values = rows.map((row) => row.value);
  const log = Math.min(...values) > 0 && Math.max(...values) > 30 * Math.min(...values);
  for (const row of rows) {
    if (log && !(row.low > 0)) row.low = row.value;
  }
  const x = valueScale('x', rows.map((row) => row.x), false, 'width', true);
  const y = valueScale('y', rows.flatMap((row) => [row.value, row.low, row.high]), log, 'height', true);
  return {
    ...frame(width, chartHeights.latency, theme),
    data: [{name: 'points', values: rows}],
    scales: [x, y, ...seriesScales(keys, theme)],
    axes: [
      guideOf(x, 'bottom', titled(throughput), roundTicks(...x.domain, Math.max(3, Math.floor(width / 110)))),
      guideOf(y, 'left', titled(latency), log ? logTicks(...y.domain) : roundTicks(...y.domain, 5)),
    ],
    legends: keys.length > 1 ? [seriesLegend(keys, width, true)] : [],
    marks: [
      {type: 'rule', from: {data: 'points'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'low'}, y2: {scale: 'y', field: 'high'},
        stroke: {scale: 'colour', field: 'series'}, strokeWidth: {value: 1.5}}}},
      seriesMarks(theme, {bands: false, points: true}),
      {type: 'text', from: {data: 'points'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'value', offset: -6}, align: {value: 'right'}, dx: {value: -5},
        text: {field: 'label'}, fill: {value: theme.muted}}}},
    ],
  };
}

/** Rates over intensity, below the slope of the memory and the flat roof of each type. */
function rooflineSpec(chart, width, theme) {
  const {settings, table} = chart;
  const value = columnOf(table, 'value'), intensity = columnOf(table, 'x'), total = columnOf(table, 'total');
  const rows = rowsOf(table);
  const keys = settings.roofs.map((roof) => roof.type);
  for (const row of rows) {
    row.tip = `${row.label} ${row.type}\n${significant(row.value)} ${value.shown}, ${(100 * row.share).toFixed(0)}% of the roof\n` +
        `${row.count} times, ${significant(row.total)} ${total.shown}`;
  }
  const ridges = settings.roofs.map((roof) => roof.rate / settings.bandwidth);
  const x = valueScale('x', [...rows.map((row) => row.x), ...ridges], true, 'width', false);
  const roofs = settings.roofs.flatMap((roof, i) => [x.domain[0], ridges[i], x.domain[1]].map((at) => ({
    type: roof.type, x: at, y: Math.min(roof.rate, at * settings.bandwidth) / value.factor})));
  const y = valueScale('y', [...rows.map((row) => row.value), ...roofs.map((roof) => roof.y)], true, 'height', false);
  const most = Math.max(...rows.map((row) => row.total));
  return {
    ...frame(width, chartHeights.roofline, theme),
    data: [{name: 'points', values: rows}, {name: 'roofs', values: roofs}],
    scales: [x, y, {name: 'area', type: 'linear', domain: [0, most], range: [20, 400]}, ...seriesScales(keys, theme)],
    axes: [
      guideOf(x, 'bottom', titled(intensity), logTicks(...x.domain)),
      guideOf(y, 'left', titled(value), logTicks(...y.domain)),
    ],
    legends: [seriesLegend(keys, width, true)],
    marks: [
      {type: 'group', from: {facet: {name: 'roof', data: 'roofs', groupby: 'type'}}, marks: [
        {type: 'line', from: {data: 'roof'}, encode: {update: {
          x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, stroke: {scale: 'colour', field: 'type'},
          strokeDash: {scale: 'dash', field: 'type'}, strokeWidth: {value: 2}}}}]},
      {type: 'symbol', from: {data: 'points'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'value'}, shape: {scale: 'shape', field: 'type'},
        fill: {scale: 'colour', field: 'type'}, fillOpacity: {value: 0.75}, stroke: {value: theme.paper},
        size: {scale: 'area', field: 'total'}, tooltip: {field: 'tip'}}}},
    ],
  };
}

function timelineSpec(chart, width, theme) {
  const {table} = chart;
  const value = columnOf(table, 'value');
  const rows = rowsOf(table);
  for (const row of rows) {
    row.environment = row.line;
    row.x = row.seconds;
    row.defined = row.value !== null;
  }
  const keys = seriesOf(rows, true);
  const shown = keys.length <= 6;
  const x = valueScale('x', rows.map((row) => row.x), false, 'width', true);
  x.domain[1] = Math.max(...rows.map((row) => row.x)) || 1;
  const y = valueScale('y', rows.map((row) => row.value), false, 'height', false);
  return {
    ...frame(width, chartHeights.timeline, theme),
    data: [{name: 'points', values: rows}],
    scales: [x, y, ...seriesScales(keys, theme)],
    axes: [
      guideOf(x, 'bottom', 'time (s)', roundTicks(...x.domain, Math.max(3, Math.floor(width / 90)))),
      guideOf(y, 'left', titled(value), roundTicks(...y.domain, 4)),
    ],
    legends: keys.length > 1 && shown ? [seriesLegend(keys, width, false)] : [],
    marks: [seriesMarks(theme, {bands: false, points: false, thin: !shown})],
  };
}
