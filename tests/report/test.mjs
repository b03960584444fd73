// The HTML report in a real browser: node test.mjs ASSAY CHROMIUM [WORDS]. WORDS are a regular expression for the names
// of the tests to run. The last line counts.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {chromium} from 'playwright-core';
import {writeCampaign, writeVoids} from './stores.mjs';
import {hostileKernel, writeHostTrace, writeTrace} from './traces.mjs';

const [assay, browserPath, wanted = ''] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const folder = mkdtempSync(join(tmpdir(), 'assay-report-'));
const file = join(folder, 'report.html');
const url = 'file://' + file;
// Milliseconds until 200 cells of 30 runs are open, and until a plain page of many lines is, on a machine where
// that is allowed so long: on one that is slower or busy, as much longer as its plain page takes.
const slowest = 2000, plainPage = 700;
const largest = 3 * 1024 * 1024;

let hasPdfText = true;
try { execFileSync('pdftotext', ['-v'], {stdio: 'ignore'}); } catch { hasPdfText = false; }

let passed = 0, failed = 0;
function check(condition, text) {
  if (!condition) throw new Error(text);
}
async function test(name, body) {
  if (!new RegExp(wanted).test(name)) return;
  try {
    await body();
    ++passed;
  } catch (error) {
    ++failed;
    console.log(`FAILED ${name}: ${error.message}`);
  }
}

const faults = [], requests = [];
/** A page with the report, whose every fault and request is written down. */
async function open(context, options = {}) {
  const page = await context.newPage(options);
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => /^(file|blob|data):/.test(request.url()) && request.url().length < 1e4
    ? request.url() !== url && !request.url().startsWith('blob:') && requests.push(request.url())
    : requests.push(request.url()));
  await page.goto(url);
  await page.waitForFunction(() => report !== null);
  return page;
}

/** Scrolls through the page as a reader does; charts draw as they come near. */
async function readThrough(page) {
  await page.evaluate(async () => {
    for (const figure of document.querySelectorAll('figure.chart')) {
      figure.scrollIntoView();
      for (let i = 0; i < 100 && !figure.querySelector('.plot svg'); ++i) {
        await new Promise((done) => setTimeout(done, 20));
      }
    }
    window.scrollTo(0, 0);
  });
}

async function saved(page, selector) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator(selector).first().click()]);
  return readFileSync(await download.path());
}

async function axeFaults(page) {
  await page.addScriptTag({path: axe}).catch(() => {});
  const results = await page.evaluate(() => axe.run(document, {resultTypes: ['violations']}));
  return results.violations.map(({id, nodes}) => `${id} (${nodes.length}): ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary.slice(0, 200)}`);
}

const made = writeCampaign(join(folder, 'study'));
execFileSync(assay, ['report', join(folder, 'study'), '-o', file], {stdio: 'pipe'});

const browser = await chromium.launch({
  executablePath: browserPath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
});
const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', bypassCSP: false});
// The page's policy forbids foreign scripts such as axe; a second context disables the policy.
const lenient = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', bypassCSP: true});

await test('is small beside its data', async () => {
  const html = readFileSync(file, 'utf8');
  const data = html.match(/<script type="application\/json" id="data">(.*)<\/script>/)[1];
  check(html.length - data.length < largest, `${html.length - data.length} bytes beside ${data.length} of data`);
  check(made.cells >= 200, `only ${made.cells} cells`);
});

/** Opens a page by `make` and waits until it is drawn: [the page, milliseconds]. */
async function opened(make) {
  const begin = performance.now();
  const page = await make();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  return [page, performance.now() - begin];
}

async function openPlain() {
  const page = await context.newPage();
  await page.setContent(`<table>${'<tr><td>0.123<td>GB/s<td>passed'.repeat(20000)}</table>`);
  return page;
}

let page = await open(context);
await test('opens fast', async () => {
  // The fastest of three, in turns.
  let took = Infinity, plain = Infinity;
  for (let i = 0; i < 3; ++i) {
    await page.close();
    const [reference, referenceTook] = await opened(openPlain);
    await reference.close();
    let pageTook;
    [page, pageTook] = await opened(() => open(context));
    took = Math.min(took, pageTook);
    plain = Math.min(plain, referenceTook);
  }
  const allowed = slowest * Math.min(4, Math.max(1, plain / plainPage));
  console.log(`opened after ${took.toFixed(0)} ms, a plain page after ${plain.toFixed(0)} ms`);
  check(took < allowed, `${took.toFixed(0)} ms, allowed ${allowed.toFixed(0)}`);
});

await test('draws charts only as they come near', async () => {
  const [drawn, all] = await page.evaluate(() => [document.querySelectorAll('.plot svg').length, figures().length]);
  check(drawn < all / 2, `${drawn} of ${all} drawn at once`);
});

await test('draws every chart', async () => {
  await readThrough(page);
  const charts = await page.evaluate(() => figures().map((figure) => ({
    kind: chartOf(figure.id).kind, title: chartOf(figure.id).title,
    marks: figure.querySelectorAll('.plot svg .mark-symbol.role-mark path, .plot svg .mark-rect.role-mark path, .plot svg .mark-line.role-mark path').length,
    bad: /NaN|Infinity|undefined/.test(figure.querySelector('.plot').innerHTML)})));
  for (const kind of ['ratio', 'curve', 'bars', 'latency', 'timeline', 'heat', 'stack']) {
    check(charts.some((chart) => chart.kind === kind), `no ${kind} chart`);
  }
  const empty = charts.filter((chart) => chart.marks === 0 || chart.bad);
  check(empty.length === 0, `empty or broken: ${empty.map((chart) => chart.title)}`);
  check(charts.length > 30, `only ${charts.length} charts`);
});

await test('marks saturation, roofline and margin', async () => {
  const figure = page.locator('figure.curve', {hasText: 'collective bandwidth over size, op=all_reduce'}).first();
  const text = await figure.locator('.plot').textContent();
  check(/90% from 256MiB/.test(text), `saturation: ${text}`);
  check(/roofline 384.0 GB\/s \(links\)/.test(text), `roofline: ${text}`);
  check(/16MiB/.test(text) && /16GiB/.test(text), `sizes: ${text}`);
  check(await page.locator('figure.ratio .plot svg .mark-rect path').count() > 0, 'no margin');
});

await test('says large changes as factors', async () => {
  const shown = await page.evaluate(() => [{change: 0.463, low: 0.29, high: 0.652}, {change: 40.444, low: 39, high: 43.2},
                                           {change: 4, low: -0.5, high: 9}, {change: 4, low: null}].map(changeText));
  check(shown.join() === ['+46.3% [+29.0, +65.2]', '41 times [40, 44]', '5.0 times [0.5, 10]', '5.0 times'].join(), shown.join());
});

await test('shows a verdict without scrolling sideways, and its details on demand', async () => {
  await page.setViewportSize({width: 1400, height: 900});
  const table = page.locator('#cells figure.table').first();
  const beyond = () => table.locator('.scroll').evaluate((scroll) => scroll.scrollWidth - scroll.clientWidth);
  const widths = () => table.locator('thead th:visible').evaluateAll((heads) => heads.map((head) => `${head.dataset.key} ${head.offsetWidth}`));
  check(await beyond() <= 0, `the table is ${await beyond()} pixels too wide: ${await widths()}`);
  const detectable = table.locator('th[data-key=detectable]');
  check(!await detectable.isVisible(), 'details are there unasked');
  await table.locator('.details input').check();
  check(await detectable.isVisible(), 'details do not come');
  await table.locator('.details input').uncheck();
});

await test('asks and answers first', async () => {
  check(await page.locator('h1').textContent() === 'Does container cost anything here?', await page.locator('h1').textContent());
  const answer = await page.locator('.answer').textContent();
  check(/^SLOWER Yes: in collective all_reduce 8MiB, container takes [0-9.]+% more time than host \(95% interval/.test(answer), answer);
});

/** Opens the report at a size, with what stands in view of question, answer, picture and how sure the answer is. */
async function firstScreen(width, height) {
  const screen = await open(await browser.newContext({viewport: {width, height}, reducedMotion: 'reduce'}));
  await screen.locator('#picture .plot svg').waitFor();
  const missing = await screen.evaluate(() => ['h1', '.answer', '#picture .plot svg', '.card-3'].filter((selector) => {
    const box = document.querySelector(selector).getBoundingClientRect();
    return box.height === 0 || box.top < 0 || Math.min(box.bottom, box.top + 150) > window.innerHeight;
  }));
  return [screen, missing];
}

for (const [width, height] of [[1400, 900], [800, 1000], [390, 844]]) {
  await test(`has question, answer, picture and doubts on the first screen of ${width} by ${height}`, async () => {
    const [screen, missing] = await firstScreen(width, height);
    check(missing.length === 0, `not in view: ${missing}`);
    const rows = await screen.evaluate(() => rowCount(chartOf('picture').table));
    check(rows === 12, `${rows} cells`);
    const covered = await screen.evaluate(() => {
      const boxes = (selector) => [...document.querySelectorAll(`#picture .plot svg ${selector}`)].map((one) => one.getBoundingClientRect());
      const plot = boxes('.mark-rect.role-mark path');
      return boxes('.mark-text.role-mark text').filter((text) => plot.some((box) =>
        text.left < box.right && text.right > box.left && text.top < box.bottom - 2 && text.bottom > box.top + 2)).length;
    });
    check(covered === 0, `${covered} labels lie on the plot`);
    await screen.locator('#picture figcaption a').click();
    check(await screen.evaluate(() => document.querySelector('#ratios').getBoundingClientRect().top < window.innerHeight), 'the rest is not one click away');
    await screen.close();
  });
}

await test('draws dots on a logarithmic axis, and bars from zero', async () => {
  const marks = (log) => page.evaluate(async (log) => {
    const chart = structuredClone(report.charts.find((one) => one.kind === 'bars'));
    chart.settings.log = log;
    const svg = await viewOf(makers.bars(chart, 600, themes.light)).toSVG();
    return [/mark-rect role-mark/.test(svg), /mark-symbol role-mark/.test(svg)].join();
  }, log);
  check(await marks(true) === 'false,true', `on a logarithmic axis, bars and dots: ${await marks(true)}`);
  check(await marks(false) === 'true,false', `on a linear axis, bars and dots: ${await marks(false)}`);
});

await test('draws what is not proven hollow and grey', async () => {
  const svg = await page.evaluate(() => {
    const chart = structuredClone(chartOf('picture'));
    const verdict = columnOf(chart.table, 'verdict');
    verdict.words = ['INCONCLUSIVE'];
    verdict.values = verdict.values.map(() => 0);
    return viewOf(makers.ratio(chart, 700, themes.light)).toSVG();
  });
  const marks = svg.match(/<g class="mark-symbol role-mark[^]*?<\/g>/)[0];
  check(!/fill="(?!#ffffff)#/.test(marks) && /fill="#ffffff"/.test(marks), marks.slice(0, 300));
  const texts = svg.match(/<g class="mark-text role-mark[^]*?<\/g>/)[0];
  check(/fill="#566070"/.test(texts) && !/fill="#1d2430"/.test(texts), texts.slice(0, 300));
});

await test('filters cells by a click', async () => {
  const rows = page.locator('#cells tbody tr:visible');
  const all = await rows.count();
  await page.locator('#cells select').selectOption('SLOWER');
  const slower = await rows.count();
  const counts = await page.locator('.card-3 li').first().textContent();
  check(slower > 0 && slower < all && counts.includes(`${slower} SLOWER`) && counts.endsWith(`of ${all} cells`), `${slower} of ${all}, ${counts}`);
  await page.locator('#cells input[type=search]').fill('all_reduce 8MiB');
  check(await rows.count() === 1, `${await rows.count()} rows`);
  await page.locator('#cells input[type=search]').fill('');
  await page.locator('#cells select').selectOption('');
});

await test('opens the data behind a chart by a click', async () => {
  const figure = page.locator('figure.curve').first();
  await figure.locator('summary').click();
  await figure.locator('details td').first().waitFor();
  const rows = await figure.locator('tbody tr').count();
  check(rows === await page.evaluate(() => rowCount(chartOf(document.querySelector('figure.curve').id).table)), `${rows} rows`);
});

await test('shows values under the pointer', async () => {
  const mark = page.locator('figure.curve .plot svg .mark-symbol.role-mark path').first();
  await mark.scrollIntoViewIfNeeded();
  await mark.hover({force: true});
  const tip = await page.locator('#tip').textContent();
  check(/GB\/s/.test(tip), `tip: ${tip}`);
});

await test('saves CSV with exact numbers', async () => {
  const lines = (await saved(page, '#cells button[data-save=csv]')).toString().trim().split('\r\n');
  check(lines[0].startsWith('verdict,cell,metric,unit,change,'), lines[0]);
  check(lines.length === 1 + await page.locator('#cells tbody tr').count(), `${lines.length} lines`);
  const csv = execFileSync(assay, ['report', join(folder, 'study'), '--format', 'csv']).toString().trim().split('\r\n');
  const number = (line) => Number(line.split(',')[7]);
  check(number(csv[1]) > 0 && number(lines[1]) === number(csv[1]), `${lines[1]} is not ${csv[1]}`);
  const chart = (await saved(page, 'figure.heat button[data-save=csv]')).toString();
  check(chart.startsWith('from,to,value\r\n') && chart.split('\r\n').length === 58, chart.slice(0, 60));
});

await test('saves SVG', async () => {
  const svg = (await saved(page, 'figure.curve button[data-save=svg]')).toString();
  check(svg.startsWith('<svg') && svg.includes('bandwidth (GB/s)') && svg.includes('</svg>'), svg.slice(0, 80));
});

await test('saves PNG', async () => {
  const png = await saved(page, 'figure.ratio button[data-save=png]');
  check(png.subarray(1, 4).toString() === 'PNG' && png.length > 5000, `${png.length} bytes`);
  check(png.readUInt32BE(16) >= 1400, `${png.readUInt32BE(16)} pixels wide`);
});

await test('hostile names do no harm', async () => {
  check(await page.evaluate(() => window.broken) === undefined, 'a script from a name ran');
  const name = 'name=</script><script>window.broken=1</script>';
  check(await page.locator('#cells caption', {hasText: name}).count() === 1, 'the name is not shown above the table');
  const whole = await page.locator('#cells tbody th').evaluateAll((cells) => cells.map((one) => one.dataset.text));
  check(whole.filter((text) => text.startsWith(`hostile ${name}`)).length === 1, 'the row lost its whole name');
  check(await page.evaluate(() => document.querySelectorAll('main script').length) === 0, 'a script in the text');
  for (const title of ['constructor', 'toString']) {  // Vega takes them for names of its own
    await page.evaluate((name) => {
      const chart = structuredClone(report.charts.find((one) => one.kind === 'curve'));
      Object.assign(columnOf(chart.table, 'x'), {title: name, shown: ''});
      viewOf(makers.curve(chart, 600, themes.light)).run();
    }, title);
  }
});

await test('is reached by keyboard', async () => {
  const fresh = await open(context);
  await fresh.keyboard.press('Tab');
  const skip = await fresh.evaluate(() => [document.activeElement.className, document.activeElement.getBoundingClientRect().left]);
  check(skip[0] === 'skip' && skip[1] >= 0, `first comes ${skip}`);
  const unreachable = await fresh.evaluate(() => [...document.querySelectorAll('button, summary, a, input, select, .scroll')]
    .filter((one) => one.tabIndex < 0).length);
  check(unreachable === 0, `${unreachable} controls cannot be reached`);
  await fresh.locator('figure.curve summary').first().focus();
  await fresh.keyboard.press('Enter');
  await fresh.locator('figure.curve details td').first().waitFor();
  const outline = await fresh.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  check(outline === 'solid', `outline ${outline}`);
  await fresh.close();
});

/** The number of pages of the report on paper. */
async function printedPages(printed) {
  return (await printed.pdf({preferCSSPageSize: true})).toString('latin1').match(/\/Type\s*\/Page\b/g).length;
}

await test('prints one page, or everything', async () => {
  const printed = await open(context);
  check(await printedPages(printed) === 1, `${await printedPages(printed)} pages`);
  await printed.evaluate(() => { window.print = () => {}; });
  await printed.locator('#print').click();
  check(await printedPages(printed) > 5, 'not everything');
  check(await printedPages(printed) === 1, 'more than a page, though everything was printed before');
  await printed.close();
});

await test('the first page is A4 and has the answer, the key table and how to repeat it', async () => {
  const printed = await open(context);
  const answer = (await printed.locator('.answer').first().innerText()).replace(/\s+/g, ' ');
  for (const everything of [false, true]) {
    if (everything) await printed.evaluate(() => document.body.classList.add('print-all'));
    const pdf = await printed.pdf({preferCSSPageSize: true, path: join(folder, 'report.pdf')});
    const [, width, height] = pdf.toString('latin1').match(/\/MediaBox\s*\[\s*0 0 ([0-9.]+) ([0-9.]+)/).map(Number);
    check(Math.abs(width - 595) < 2 && Math.abs(height - 842) < 2, `${width} x ${height} points`);
    if (!hasPdfText) continue;
    const page1 = execFileSync('pdftotext', ['-l', '1', '-layout', join(folder, 'report.pdf'), '-'], {encoding: 'utf8'}).replace(/\s+/g, ' ');
    const words = answer.split(' ').slice(-8).join(' ');
    check(page1.includes(words), `no "${words}" on page 1: ${page1}`);
    for (const text of ['Cells: container (B) against host (A): the first 8 of', 'HOW TO REPEAT IT', 'plan.yaml', 'MACHINE', 'Time of container against host']) {
      check(page1.includes(text), `no "${text}" on page 1: ${page1}`);
    }
    check(!page1.includes('Verdict for every cell'), 'the chapters begin on page 1');
  }
  await printed.evaluate(() => document.body.classList.remove('print-all'));
  check(!await printed.locator('.headline').isVisible(), 'the key table is on the screen, too');
  await printed.close();
});

await test('prints everything open, in dark ink, and returns', async () => {
  await page.evaluate(() => document.body.classList.add('print-all'));
  const closed = await page.evaluate(() => [...document.querySelectorAll('details')].filter((d) => !d.open).length);
  const state = await page.evaluate(() => {
    window.dispatchEvent(new Event('beforeprint'));
    return [[...document.querySelectorAll('details')].filter((d) => !d.open).length,
            figures().filter((f) => !f.querySelector('.plot svg')).length];
  });
  check(state[0] === 0 && state[1] === 0, `${state[0]} closed, ${state[1]} not drawn`);
  const back = await page.evaluate(() => {
    window.dispatchEvent(new Event('afterprint'));
    return [...document.querySelectorAll('details')].filter((d) => !d.open).length;
  });
  check(back === closed, `${back} closed, ${closed} before`);
  await page.emulateMedia({media: 'print'});
  check(!await page.locator('nav').isVisible() && !await page.locator('.tools').first().isVisible(), 'controls on paper');
  await page.emulateMedia({media: 'screen'});
});

await test('follows the dark mode', async () => {
  await page.locator('figure.curve').first().scrollIntoViewIfNeeded();
  await page.emulateMedia({colorScheme: 'dark'});
  await page.locator('figure.curve .plot svg').first().waitFor();
  const [paper, chart] = await page.evaluate(() => [
    getComputedStyle(document.body).backgroundColor,
    document.querySelector('figure.curve .plot svg > rect, figure.curve .plot svg').outerHTML.includes('#161b22')]);
  check(paper === 'rgb(22, 27, 34)' && chart, `paper ${paper}, chart ${chart}`);
  await page.emulateMedia({colorScheme: 'light'});
});

for (const width of [320, 375, 390]) {
  await test(`fits a phone of ${width} pixels`, async () => {
    const phone = await open(await browser.newContext({viewport: {width, height: 740}, isMobile: true, hasTouch: true, reducedMotion: 'reduce'}));
    await readThrough(phone);
    const [scroll, inner] = await phone.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    check(scroll <= width && inner === width, `the page is ${scroll} wide on ${inner}`);
    await phone.close();
  });
}

for (const scheme of ['light', 'dark']) {
  await test(`axe-core finds no fault, ${scheme}`, async () => {
    const tested = await open(lenient);
    await tested.emulateMedia({colorScheme: scheme});
    await readThrough(tested);
    await tested.locator('figure.curve summary').first().focus();
    await tested.keyboard.press('Enter');
    await tested.locator('figure.curve details td').first().waitFor();
    const found = await axeFaults(tested);
    check(found.length === 0, found.join('; '));
    await tested.close();
  });
}

await test('an environment alone', async () => {
  execFileSync(assay, ['report', join(folder, 'study', 'host'), '-o', file], {stdio: 'pipe'});
  const alone = await open(context);
  await readThrough(alone);
  check(await alone.locator('.badge').count() === 0, 'a verdict');
  check(await alone.locator('h1').textContent() === 'What does this machine reach?', await alone.locator('h1').textContent());
  check(/^[0-9]+% to [0-9]+% of the roofline/.test(await alone.locator('.answer').textContent()), await alone.locator('.answer').textContent());
  check(await alone.evaluate(() => chartOf('picture').kind) === 'bars', 'no shares of rooflines');
  check(await alone.locator('.plot svg').count() > 10, 'charts');
  const tested = await open(lenient);
  const found = await axeFaults(tested);
  check(found.length === 0, found.join('; '));
  await tested.close();
  await alone.close();
});

await test('draws void values hollow and says why', async () => {
  writeVoids(join(folder, 'voids'));
  execFileSync(assay, ['report', join(folder, 'voids'), '-o', file], {stdio: 'pipe'});
  const voids = await open(context);
  await readThrough(voids);
  for (const [kind, mark, why] of [['curve', 'symbol', '120% of the roofline'], ['latency', 'symbol', '3 requests failed'],
                                   ['heat', 'rect', '120% of the roofline']]) {
    const figure = voids.locator(`figure.${kind}`, {hasText: 'is void and drawn hollow'}).first();
    const hollow = figure.locator(`.plot svg .mark-${mark}.role-mark path[fill="#ffffff"]:not([stroke="#ffffff"])`);
    check(await hollow.count() === 1, `${await hollow.count()} hollow marks on the ${kind} chart`);
    await hollow.scrollIntoViewIfNeeded();
    await hollow.hover({force: true});
    const tip = await voids.locator('#tip').textContent();
    check(tip.includes(`void: ${why}`), `tip: ${tip}`);
  }
  await voids.close();
});

await test('draws matrices of one row as one', async () => {
  const voids = await open(context);
  await readThrough(voids);
  const heat = voids.locator('figure.heat', {hasText: 'copy bandwidth by link'});
  check(await heat.count() === 1, `${await heat.count()} charts`);
  const text = await heat.locator('.plot').textContent();
  check(text.includes('op=read') && text.includes('op=write'), text);
  check(await heat.locator('.plot svg .mark-rect.role-mark path').count() === 16, 'squares');
  await voids.close();
});

/** What holds of every page: header cells, no scrolling sideways on a phone, one printed page, nothing for axe-core to find. */
async function checkPage() {
  const tested = await open(lenient);
  await readThrough(tested);
  const broken = await tested.evaluate(() => figures().filter((figure) =>
    !figure.querySelector('.plot svg .role-mark path') || /NaN|Infinity|undefined/.test(figure.querySelector('.plot').innerHTML)).map((figure) => figure.id));
  check(broken.length === 0, `empty or broken: ${broken}`);
  for (const scheme of ['light', 'dark']) {
    await tested.emulateMedia({colorScheme: scheme});
    await readThrough(tested);
    const found = await axeFaults(tested);
    check(found.length === 0, `${scheme}: ${found.join('; ')}`);
  }
  const headless = await tested.evaluate(() => [...document.querySelectorAll('table')].filter((table) =>
    !table.querySelector('thead th[scope=col]') || [...table.tBodies[0].rows].some((row) => !row.querySelector('th[scope=row]'))).length);
  check(headless === 0, `${headless} tables without header cells`);
  check(await printedPages(tested) === 1, `${await printedPages(tested)} printed pages`);
  await tested.close();
  const phone = await open(await browser.newContext({viewport: {width: 390, height: 740}, isMobile: true, hasTouch: true, reducedMotion: 'reduce'}));
  await readThrough(phone);
  const scroll = await phone.evaluate(() => document.documentElement.scrollWidth);
  check(scroll <= 390, `the page is ${scroll} wide on a phone of 390`);
  await phone.close();
}

const traces = ['a.json', 'b.json'].map((name) => join(folder, name));
writeTrace(traces[0], 60);
writeTrace(traces[1], 90);

await test('a trace says where the time goes', async () => {
  execFileSync(assay, ['trace', 'read', traces[0], '-o', file], {stdio: 'pipe'});
  const page = await open(context);
  const answer = await page.locator('.answer').textContent();
  check(/^Of a step of 3\.\d+ ms, [0-9.]+% is computing \(most of it matrix products\)/.test(answer), answer);
  check((await page.locator('.card-1').textContent()).includes('step 1 of 3, ProfilerStep#1'), 'not the first of the two median steps');
  const kinds = await page.evaluate(() => report.charts.map((chart) => chart.kind));
  check(kinds.join() === 'stack,lanes,roofline', kinds.join());
  check(await page.evaluate(() => window.broken) === undefined, 'a script from a name ran');
  check(await page.locator('#operations-table th', {hasText: hostileKernel}).count() === 1, 'the hostile name is not shown');
  await page.close();
  await checkPage();
});

await test('the timeline of a trace zooms, moves and names its blocks', async () => {
  const page = await open(context);
  await readThrough(page);
  const figure = page.locator('figure.lanes');
  const plot = figure.locator('.plot');
  const shown = () => page.evaluate(() => rangeOf(document.querySelector('figure.lanes')));
  const blocks = () => plot.locator('svg .mark-rect.role-mark').nth(1).locator('path');
  const click = (name) => figure.getByRole('button', {name, exact: true}).click();
  const text = await plot.textContent();
  for (const lane of ['host', 'thread 1', 'GPU 0', 'stream 7', 'collectives', 'copies']) check(text.includes(lane), `no ${lane}: ${text}`);
  const [, length] = await shown();
  const all = await blocks().count();
  await click('Zoom in');
  await click('Zoom in');
  let [begin, end] = await shown();
  check(Math.abs(end - begin - length / 4) < 1e-9 && begin > 0, `${begin} to ${end} of ${length}`);
  const fewer = await blocks().count();
  check(fewer < all / 2, `${fewer} of ${all} blocks are drawn in a quarter of the step`);
  check((await plot.textContent()).includes('Cijk_Ailk'), 'a wide block has no name');
  await click('Later');
  check((await shown())[0] > begin, 'it does not move');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  [begin, end] = await shown();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 100, box.y + box.height / 2, {steps: 4});
  await page.mouse.up();
  check((await shown())[0] < begin, 'dragging to the right does not show what was earlier');
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -300);
  await page.keyboard.up('Control');
  await page.waitForFunction((before) => rangeOf(document.querySelector('figure.lanes'))[1] - rangeOf(document.querySelector('figure.lanes'))[0] < before,
                             (end - begin) * 0.75);
  await click('Whole step');
  check(JSON.stringify(await shown()) === JSON.stringify([0, length]) && await blocks().count() === all, 'the whole step does not return');
  await plot.locator('svg .mark-rect.role-mark path[fill="#c24d00"]').hover({force: true});  // the collective
  const tip = await page.locator('#tip').textContent();
  check(tip.startsWith('ncclDevKernel_AllReduce_Sum_bf16\n120.0 us\nGPU 0, collectives'), `tip: ${tip}`);
  await page.close();
});

await test('a trace without work of a GPU has the timeline of its host', async () => {
  const trace = join(folder, 'host.json');
  writeHostTrace(trace);
  execFileSync(assay, ['trace', 'read', trace, '-o', file, '--step', '2'], {stdio: 'pipe'});
  const page = await open(context);
  await readThrough(page);
  const answer = await page.locator('.answer').textContent();
  check(answer.includes('the timeline shows what the host did in a step of 900.0 us'), answer);
  const plot = page.locator('figure.lanes .plot');
  const text = await plot.textContent();
  for (const lane of ['host', 'thread 1', 'thread 2', 'ProfilerStep#2']) check(text.includes(lane), `no ${lane}: ${text}`);
  const blocks = await plot.locator('svg .mark-rect.role-mark').nth(1).locator('path').count();
  check(blocks === 61, `${blocks} blocks`);
  await page.close();
  await checkPage();
});

await test('a comparison of traces leads from one step to the other', async () => {
  execFileSync(assay, ['trace', 'compare', traces[0], '--with', traces[1], '-o', file], {stdio: 'pipe'});
  const page = await open(context);
  await readThrough(page);
  const answer = await page.locator('.answer').textContent();
  check(/^A step takes 3\.\d+ ms in A and 4\.\d+ ms in B, 1\.\d+x as long: gemm \+1\.200 ms/.test(answer), answer);
  const bars = await page.locator('figure.waterfall .plot svg .mark-rect.role-mark path').count();
  check(bars === await page.evaluate(() => rowCount(chartOf('picture').table)), `${bars} bars`);
  check(await page.locator('#kernels-table tbody tr').count() === 11, 'kernels');
  await page.close();
  await checkPage();
});

await test('no fault on the console', async () => check(faults.length === 0, faults.slice(0, 3).join('; ')));
await test('no request', async () => check(requests.length === 0, requests.slice(0, 3).join('; ')));

await browser.close();
rmSync(folder, {recursive: true, force: true});
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
