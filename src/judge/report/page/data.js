'use strict';
// Access to the report's data: columns of tables, numbers as readable text (as in
// src/judge/report/number_text.cpp), CSV.

let report = null;

function loadReport() {
  report = JSON.parse(document.getElementById('data').textContent);
}

/** Returns the table with this id, of a chart or a separate one; undefined if there is none. */
function tableOf(id) {
  const chart = chartOf(id);
  return chart ? chart.table : report.tables.find((table) => table.id === id);
}

function chartOf(id) {
  return report.charts.find((chart) => chart.table.id === id);
}

function columnOf(table, key) {
  return table.columns.find((column) => column.key === key);
}

function rowCount(table) {
  return table.columns[0].values.length;
}

/** A text, a number in the column's unit, or null. */
function fieldOf(column, row) {
  const value = column.values[row];
  if (value === null) return null;
  return isText(column) ? column.words[value] : value;
}

function isText(column) {
  return column.kind === 'text' || column.kind === 'verdict' || column.kind === 'unit';
}

/** The rows as objects by column key; values of number columns are in the shown unit. */
function rowsOf(table) {
  const rows = [];
  for (let i = 0; i < rowCount(table); ++i) {
    const row = {};
    for (const column of table.columns) {
      const value = fieldOf(column, i);
      row[column.key] = column.kind === 'number' && value !== null ? value / column.factor : value;
    }
    rows.push(row);
  }
  return rows;
}

/** Four significant digits, never in exponent form. */
function significant(x) {
  if (x === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(x) * 1.00005));
  return x.toFixed(Math.min(100, Math.max(0, 3 - magnitude)));
}

/** As short as an axis allows: 0.5, 20, 1500. */
function short(x) {
  return Number(x.toPrecision(4)).toLocaleString('en-US', {useGrouping: false, maximumFractionDigits: 12});
}

/** 4096 as 4KiB. */
function sizeText(bytes) {
  const units = ['', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (unit + 1 < units.length && bytes >= 1024 && bytes % 1024 === 0) {
    bytes /= 1024;
    ++unit;
  }
  return bytes + units[unit];
}

const prefixes = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'u'], [1e-9, 'n']];

/** 812.3e9 in "bytes/s" as 812.3 GB/s. */
function quantityText(value, unit) {
  if (unit === 'ns') return quantityText(value * 1e-9, 's');
  const magnitude = Math.abs(value);
  let [factor, prefix] = prefixes.find(([f]) => magnitude >= f * 0.99995) || [1, ''];
  let name = unit;
  if (unit === 'bytes/s') {
    name = 'B/s';
    if (magnitude >= 1e7) [factor, prefix] = [1e9, 'G'];
  } else if (unit === 'bytes') {
    name = 'B';
  } else if (unit === 's' ? magnitude >= 1 : !['FLOP/s', 'Hz', 'W', 'J'].includes(unit)) {
    [factor, prefix] = [1, ''];
  }
  if (unit === '1') name = '';
  return (significant(value / factor) + ' ' + prefix + name).trim();
}

/** As many_times in judge/compare/sentences.h: from this ratio of times on, the ratio is shown and not a percentage. */
const manyTimes = 5;

/** A ratio of times: 7.3, 41, 23600. */
function timesText(ratio) {
  return ratio.toFixed(ratio < 10 ? 1 : 0);
}

function fieldText(table, column, row) {
  const value = fieldOf(column, row);
  if (value === null) return '';
  if (isText(column)) return value;
  switch (column.kind) {
    case 'count': return value.toFixed(0);
    case 'size': return sizeText(value);
    case 'change':
      if (1 + value >= manyTimes) return timesText(1 + value) + ' times';
      return (value >= 0 ? '+' : '') + (100 * value).toFixed(2) + '%';
    case 'share': return (100 * value).toFixed(1) + '%';
    case 'measured': {
      const unit = table.columns.find((other) => other.kind === 'unit');
      return quantityText(value, unit ? fieldOf(unit, row) || '' : '');
    }
    default: return significant(value / column.factor);
  }
}

function headingText(column) {
  return column.shown ? `${column.title} (${column.shown})` : column.title;
}

/** RFC 4180; text that a spreadsheet would take for a formula gets an apostrophe. */
function csvField(value) {
  if (typeof value === 'number') return String(value);
  let text = value === null ? '' : value;
  if (/^[=+\-@]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function csvLines(rows) {
  return rows.map((row) => row.map(csvField).join(',') + '\r\n').join('');
}

/** Exact numbers in SI units. */
function csvOfTable(table) {
  const rows = [table.columns.map((column) => column.key)];
  for (let i = 0; i < rowCount(table); ++i) {
    rows.push(table.columns.map((column) => fieldOf(column, i)));
  }
  return csvLines(rows);
}

/** Converts a table of the markup, whose numbers are in <data> elements. */
function csvOfMarkup(table) {
  const rows = [[...table.tHead.rows[0].cells].map((cell) => cell.dataset.key)];
  for (const row of table.tBodies[0].rows) {
    rows.push([...row.cells].map((cell) => {
      const data = cell.querySelector('data');
      return data ? Number(data.value) : cell.dataset.text || cell.textContent;
    }));
  }
  return csvLines(rows);
}
