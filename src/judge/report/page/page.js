// The page: draws charts when they scroll near, builds long tables when they are opened, saves files,
// filters cells, adapts to the theme and to print.

const makers = {curve: curveSpec, latency: latencySpec, timeline: timelineSpec, bars: barsSpec, ratio: ratioSpec,
                heat: heatSpec, stack: stackSpec, lanes: lanesSpec, roofline: rooflineSpec, waterfall: waterfallSpec};
/** Most rows shown of a long table, on screen and on paper; the CSV file has all. */
const mostRows = 2000, mostPrintedRows = 100;
/** Pixels of a chart on paper. */
const printedWidth = 640;

const views = new Map();

function heightOf(chart, width) {
  switch (chart.kind) {
    case 'bars': return barsHeight(chart, width);
    case 'ratio': return ratioHeight(chart, width);
    case 'heat': return heatHeight(chart, width);
    case 'stack': return stackHeight(chart);
    case 'lanes': return lanesHeight(chart, width);
    case 'waterfall': return waterfallHeight(chart, width);
    default: return chartHeights[chart.kind];
  }
}

function draw(figure, theme, width) {
  const plot = figure.querySelector('.plot');
  const chart = chartOf(figure.id);
  erase(figure);
  plot.style.minHeight = '';
  try {
    const view = viewOf(makers[chart.kind](chart, width || Math.max(240, plot.clientWidth), theme), plot);
    view.tooltip(showTip);
    view.run();
    views.set(figure.id, view);
    if (chart.kind === 'lanes') showRange(figure);
  } catch (error) {
    // A chart that fails must not stop the others.
    console.error(`${chart.title}: ${error.message}`);
    plot.textContent = 'This chart could not be drawn; its data are below.';
  }
}

function erase(figure) {
  const view = views.get(figure.id);
  if (view) view.finalize();
  views.delete(figure.id);
  figure.querySelector('.plot').replaceChildren();
}

function currentTheme() {
  return prefersDark() ? themes.dark : themes.light;
}

/** Draws a figure once it is less than a screen away. */
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    draw(entry.target, currentTheme());
  }
}, {rootMargin: '600px 0px'});

function figures() {
  return [...document.querySelectorAll('figure.chart')];
}

/** After a change of width or theme: redraws charts in view now, others when they scroll near. */
function redraw() {
  for (const figure of figures()) {
    const plot = figure.querySelector('.plot');
    plot.style.minHeight = heightOf(chartOf(figure.id), plot.clientWidth) + 'px';
    erase(figure);
    watcher.unobserve(figure);
    watcher.observe(figure);
  }
}

function showTip(handler, event, item, value) {
  const tip = document.getElementById('tip');
  if (!value) {
    tip.hidden = true;
    return;
  }
  tip.textContent = value;
  tip.hidden = false;
  const x = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8);
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = Math.max(4, event.clientY - tip.offsetHeight - 10) + 'px';
}

function element(name, attributes, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function buildTable(details, most) {
  const box = details.querySelector('.scroll');
  if (box.firstChild) return;
  const table = tableOf(details.dataset.table);
  const made = element('table');
  const columns = table.columns.filter((column) => column.kind !== 'unit');
  const head = made.createTHead().insertRow();
  for (const column of columns) {
    head.append(element('th', {scope: 'col', class: isText(column) ? '' : 'number'}, headingText(column)));
  }
  const body = made.createTBody();
  const count = Math.min(rowCount(table), most);
  for (let i = 0; i < count; ++i) {
    const row = body.insertRow();
    for (const column of columns) {
      row.append(element('td', isText(column) ? {} : {class: 'number'}, fieldText(table, column, i)));
    }
  }
  box.append(made);
  if (count < rowCount(table)) {
    box.append(element('p', {class: 'more'},
                       `The first ${count} of ${rowCount(table)} rows; the CSV file has them all.`));
  }
}

function save(name, content) {
  const link = element('a', {download: name});
  link.href = URL.createObjectURL(content);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function saveAs(form, id) {
  const chart = chartOf(id);
  if (form === 'csv') {
    const markup = document.querySelector(`#${id} table`);
    const table = tableOf(id);
    save(`${id}.csv`, new Blob([table ? csvOfTable(table) : csvOfMarkup(markup)], {type: 'text/csv'}));
    return;
  }
  // For documents: the light theme and a size that fits a page.
  const view = viewOf(makers[chart.kind](chart, 720, themes.light));
  if (form === 'svg') {
    save(`${id}.svg`, new Blob([await view.toSVG()], {type: 'image/svg+xml'}));
  } else {
    const canvas = await view.toCanvas(2);
    canvas.toBlob((blob) => save(`${id}.png`, blob), 'image/png');
  }
  view.finalize();
}

/** Adds a text filter and a verdict filter above a table of cells. */
function addFilter(figure) {
  const rows = [...figure.querySelectorAll('tbody tr')];
  const verdicts = unique(rows.map((row) => (row.querySelector('.badge') || {}).textContent)).filter(Boolean);
  if (rows.length < 8) return;
  const bar = element('div', {class: 'filter', role: 'search', 'aria-label': 'Filter of ' + figure.id});
  const words = element('input', {type: 'search', placeholder: 'e.g. triad 1GiB', 'aria-label': 'Show rows with these words'});
  const choice = element('select', {'aria-label': 'Show rows with this verdict'});
  choice.append(element('option', {value: ''}, 'every verdict'));
  for (const verdict of verdicts) choice.append(element('option', {value: verdict}, verdict));
  const count = element('output', {'aria-live': 'polite'});
  // "8mib" finds size=8MiB and not size=128MiB: words match from their beginning.
  const plain = (text) => text.toLowerCase().replace(/[=\s]+/g, ' ');
  const texts = new Map(rows.map((row) => [row, plain(' ' + [...row.cells].map((cell) => cell.dataset.text || cell.textContent).join(' '))]));
  const apply = () => {
    const wanted = words.value.split(/\s+/).filter(Boolean).map(plain);
    let shown = 0;
    for (const row of rows) {
      const badge = row.querySelector('.badge');
      row.hidden = !wanted.every((word) => texts.get(row).includes(' ' + word)) ||
                   (choice.value !== '' && badge.textContent !== choice.value);
      if (!row.hidden) ++shown;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  words.addEventListener('input', apply);
  choice.addEventListener('change', apply);
  bar.append(words);
  if (verdicts.length > 1) bar.append(choice);
  bar.append(count);
  figure.prepend(bar);
  apply();
}

/** Printing gives the first screen on one page, or everything, open and drawn; both in the light theme. */
function prepareForPaper() {
  const all = document.body.classList.contains('print-all');
  if (!all) {
    const picture = document.getElementById('picture');
    if (picture) draw(picture, themes.light, printedWidth);
    return;
  }
  for (const details of document.querySelectorAll('details')) {
    details.dataset.wasOpen = details.open ? 'yes' : '';
    if (details.dataset.table) buildTable(details, mostPrintedRows);
    details.open = true;
  }
  for (const figure of figures()) draw(figure, themes.light, Math.min(printedWidth, figure.clientWidth || printedWidth));
}

function returnToScreen() {
  if (document.body.classList.contains('print-all')) {
    for (const details of document.querySelectorAll('details')) details.open = details.dataset.wasOpen === 'yes';
  }
  document.body.classList.remove('print-all');
  redraw();
}

function start() {
  loadReport();
  loadVega();
  document.body.append(element('div', {id: 'tip', role: 'tooltip', hidden: ''}));
  redraw();
  for (const figure of document.querySelectorAll('figure.lanes')) addZoom(figure);
  for (const details of document.querySelectorAll('details[data-table]')) {
    details.addEventListener('toggle', () => details.open && buildTable(details, mostRows));
  }
  for (const figure of document.querySelectorAll('#cells figure.table')) addFilter(figure);
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button[data-save]');
    if (button) saveAs(button.dataset.save, button.dataset.of);
  });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let width = window.innerWidth, timer = 0;
  window.addEventListener('resize', () => {
    if (window.innerWidth === width) return;  // a phone's address bar changes only the height
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(redraw, 150);
  });
  document.getElementById('print').addEventListener('click', () => {
    document.body.classList.add('print-all');
    window.print();
  });
  window.addEventListener('beforeprint', prepareForPaper);
  window.addEventListener('afterprint', returnToScreen);
}

document.addEventListener('DOMContentLoaded', start);
