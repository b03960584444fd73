// What ran when: lanes of blocks over time, with zoom by buttons, by the wheel while Ctrl is held, and
// by dragging.

const laneStep = 19, headStep = 24;
/** The part of the step that each figure shows, in the shown unit of its times. */
const shownRanges = new Map();

/** The width of lane names. */
function lanesLeft(width) {
  return Math.round(Math.min(110, 0.24 * width));
}

/** Headings and lanes from top to bottom, with the place of each block. */
function lanePlaces(chart) {
  const rows = rowsOf(chart.table);
  const heads = [], lanes = [];
  let top = 0, group = null, lane = null;
  for (const row of rows) {
    if (row.group !== group) {
      heads.push({y: top + 16, text: row.group});
      top += headStep;
      group = row.group;
      lane = null;
    }
    const name = row.lane + '\u0000' + row.row;
    if (name !== lane) {
      lanes.push({y: top, text: row.row === 0 ? row.lane : ''});
      top += laneStep;
      lane = name;
    }
    row.y = top - laneStep;
  }
  return {rows, heads, lanes, height: top};
}

function lanesHeight(chart, width) {
  const kinds = unique(rowsOf(chart.table).map((row) => row.kind));
  return lanePlaces(chart).height + 52 + 22 * Math.ceil(kinds.length / Math.max(1, Math.floor(width / 160)));
}

function blockTip(row, column) {
  const time = (value) => quantityText(value * column.factor, column.unit);
  const where = `${row.group}, ${row.lane}, at ${time(row.begin)}`;
  if (row.count === 1) return `${row.name}\n${time(row.longest)}\n${where}`;
  return `${row.count} events, busy for ${time(row.busy)} of ${time(row.end - row.begin)}\n` +
      `longest: ${row.name}, ${time(row.longest)}\n${where}`;
}

function lanesSpec(chart, width, theme) {
  const begin = columnOf(chart.table, 'begin');
  const {rows, heads, lanes, height} = lanePlaces(chart);
  for (const row of rows) {
    row.tip = blockTip(row, begin);
    row.ink = row.kind === 'host: ranges' ? theme.ink : row.kind === 'host: operations' ? '#1d2430' : theme.paper;
    row.opacity = row.count === 1 ? 1 : 0.35 + 0.65 * Math.min(1, row.busy / (row.end - row.begin || 1));
  }
  const left = lanesLeft(width);
  const length = chart.settings.length / begin.factor;
  const keys = unique(rows.map((row) => row.kind));
  const x = {name: 'x', type: 'linear', domain: {signal: 'shown'}, range: [left, {signal: 'width'}], clamp: true, zero: false, nice: false};
  const span = "scale('x', datum.end) - scale('x', datum.begin)";
  return {
    ...frame(width, lanesHeight(chart, width), theme),
    signals: [{name: 'shown', value: [0, length]}],
    data: [
      {name: 'all', values: rows},
      {name: 'blocks', source: 'all', transform: [{type: 'filter', expr: 'datum.end >= shown[0] && datum.begin <= shown[1]'}]},
      // Only these have room for a part of their name.
      {name: 'named', source: 'blocks', transform: [{type: 'filter', expr:
        `datum.count === 1 && (min(datum.end, shown[1]) - max(datum.begin, shown[0])) * ${width - left} > 42 * (shown[1] - shown[0])`}]},
      {name: 'heads', values: heads}, {name: 'lanes', values: lanes},
    ],
    scales: [x, workScale(keys, theme)],
    axes: [{scale: 'x', orient: 'bottom', title: `time (${begin.shown})`, grid: true, domain: false, ticks: false,
            labelFlush: true, tickCount: Math.max(2, Math.floor((width - left) / 90))}],
    legends: [colourLegend(keys, width)],
    marks: [
      {type: 'rect', from: {data: 'lanes'}, encode: {update: {
        x: {value: left}, x2: {signal: 'width'}, y: {field: 'y', offset: laneStep - 2}, height: {value: 1}, fill: {value: theme.grid}}}},
      {type: 'rect', from: {data: 'blocks'}, encode: {update: {
        x: {scale: 'x', field: 'begin'}, width: {signal: `max(0.8, ${span})`}, y: {field: 'y', offset: 1},
        height: {value: laneStep - 3}, fill: {scale: 'colour', field: 'kind'}, fillOpacity: {field: 'opacity'},
        tooltip: {field: 'tip'}}}},
      {type: 'text', interactive: false, from: {data: 'named'}, encode: {update: {
        x: {scale: 'x', field: 'begin', offset: 3}, y: {field: 'y', offset: 13}, text: {field: 'name'},
        fill: {field: 'ink'}, fontSize: {value: 10}, limit: {signal: `${span} - 6`}}}},
      {type: 'text', from: {data: 'heads'}, encode: {update: {
        x: {value: 0}, y: {field: 'y'}, text: {field: 'text'}, fill: {value: theme.ink}, fontSize: {value: 12},
        fontWeight: {value: 'bold'}, limit: {signal: 'width'}}}},
      {type: 'text', from: {data: 'lanes'}, encode: {update: {
        x: {value: 0}, y: {field: 'y', offset: 13}, text: {field: 'text'}, fill: {value: theme.muted}, limit: {value: left - 6}}}},
    ],
  };
}

/** Draws the part that was chosen before, such as before a change of the window's width. */
function showRange(figure) {
  const shown = shownRanges.get(figure.id), view = views.get(figure.id);
  if (shown && view) view.signal('shown', shown).run();
}

/** Shows from `begin` to `end`, kept within the step. */
function zoomTo(figure, begin, end) {
  const chart = chartOf(figure.id);
  const length = chart.settings.length / columnOf(chart.table, 'begin').factor;
  const span = Math.min(length, Math.max(end - begin, length * 1e-6));
  const from = Math.min(length - span, Math.max(0, begin));
  shownRanges.set(figure.id, [from, from + span]);
  showRange(figure);
}

/** Zooms by `factor` about the place at this share of the plot, and moves by a share of what is shown. */
function zoomBy(figure, factor, share, move) {
  const [begin, end] = rangeOf(figure);
  const span = (end - begin) * factor;
  const from = begin + share * (end - begin - span) + move * (end - begin);
  zoomTo(figure, from, from + span);
}

function rangeOf(figure) {
  const chart = chartOf(figure.id);
  return shownRanges.get(figure.id) || [0, chart.settings.length / columnOf(chart.table, 'begin').factor];
}

/** The place of the pointer as a share of the plot's width. */
function shareOf(figure, event) {
  const box = figure.querySelector('.plot').getBoundingClientRect();
  const left = lanesLeft(box.width);
  return Math.min(1, Math.max(0, (event.clientX - box.left - left) / (box.width - left)));
}

function addZoom(figure) {
  const bar = element('div', {class: 'zoom', role: 'group', 'aria-label': 'Part of the step that is shown'});
  for (const [text, act] of [['Zoom in', () => zoomBy(figure, 0.5, 0.5, 0)], ['Zoom out', () => zoomBy(figure, 2, 0.5, 0)],
                             ['Earlier', () => zoomBy(figure, 1, 0, -0.5)], ['Later', () => zoomBy(figure, 1, 0, 0.5)],
                             ['Whole step', () => zoomTo(figure, 0, Infinity)]]) {
    const button = element('button', {type: 'button'}, text);
    button.addEventListener('click', act);
    bar.append(button);
  }
  const plot = figure.querySelector('.plot');
  plot.before(bar);
  plot.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // the wheel alone scrolls the page
    event.preventDefault();
    zoomBy(figure, 2 ** (event.deltaY / 300), shareOf(figure, event), 0);
  }, {passive: false});
  let last = null;
  plot.addEventListener('pointerdown', (event) => { last = shareOf(figure, event); });
  plot.addEventListener('pointermove', (event) => {
    if (last === null || !(event.buttons & 1)) return;
    const share = shareOf(figure, event);
    zoomBy(figure, 1, 0, last - share);
    last = share;
  });
  window.addEventListener('pointerup', () => { last = null; });
}
