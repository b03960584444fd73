// The way from one total to another: a bar for each change, beginning where the one before it ends.

function waterfallRows(chart) {
  const end = columnOf(chart.table, 'end');
  return rowsOf(chart.table).map((row) => {
    const change = row.end - row.begin;
    const sign = row.kind === 'total' ? '' : change < 0 ? '-' : '+';
    return {...row, text: sign + quantityText(Math.abs(change) * end.factor, end.unit)};
  });
}

function waterfallPlaces(rows, width) {
  return rowPlaces(rows.map((row) => row.what), rows.map((row) => row.text), width);
}

function waterfallHeight(chart, width) {
  const rows = waterfallRows(chart);
  return rows.length * waterfallPlaces(rows, width).step + 60;
}

function waterfallSpec(chart, width, theme) {
  const end = columnOf(chart.table, 'end');
  const rows = waterfallRows(chart);
  const {beside, left, right, step} = waterfallPlaces(rows, width);
  const ends = rows.flatMap((row) => (row.kind === 'total' ? [row.end] : [row.begin, row.end]));
  let least = Math.min(...ends);
  const most = Math.max(...ends);
  // Small changes could not be seen beside totals that begin at 0.
  const cut = most - least < 0.2 * most;
  least = cut ? Math.max(0, least - 0.5 * (most - least || 0.1 * most)) : 0;
  const colours = {total: theme.muted, more: theme.verdicts.SLOWER, less: theme.verdicts.FASTER};
  rows.forEach((row, i) => {
    row.y = i * step + (beside ? 0 : 18);
    row.from = Math.max(least, Math.min(row.begin, row.end));
    row.to = Math.max(row.begin, row.end);
    row.colour = colours[row.kind];
    row.tip = `${row.what}\n${row.text}`;
  });
  const x = {name: 'x', type: 'linear', domain: [least, most], range: [left, {signal: `width - ${right}`}], zero: false};
  const links = rows.slice(1).map((row, i) => ({x: rows[i].end, y: rows[i].y + 4, y2: row.y + 18}));
  const text = (field, more) => ({type: 'text', from: {data: 'rows'}, encode: {update: {
    y: {field: 'y', offset: beside ? 15 : -4}, text: {field}, fill: {value: theme.ink}, ...more}}});
  return {
    ...frame(width, rows.length * step + 60, theme),
    data: [{name: 'rows', values: rows}, {name: 'links', values: links}],
    scales: [x],
    axes: [guideOf(x, 'bottom', `time of a step (${end.shown})` + (cut ? ', from ' + significant(least) : ''),
                   roundTicks(least, most, Math.max(2, Math.floor((width - left - right) / 90))))],
    marks: [
      {type: 'rule', from: {data: 'links'}, encode: {update: {
        x: {scale: 'x', field: 'x'}, y: {field: 'y'}, y2: {field: 'y2'}, stroke: {value: theme.muted}, strokeDash: {value: [2, 2]}}}},
      {type: 'rect', from: {data: 'rows'}, encode: {update: {
        x: {scale: 'x', field: 'from'}, x2: {scale: 'x', field: 'to'}, y: {field: 'y', offset: 2}, height: {value: 18},
        fill: {field: 'colour'}, tooltip: {field: 'tip'}}}},
      text('what', {x: {value: 0}, limit: {value: beside ? left : width}}),
      text('text', {x: {signal: 'width'}, align: {value: 'right'}}),
    ],
  };
}
