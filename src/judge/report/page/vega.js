// Assembles Vega from the parts in the page. Expressions are interpreted: no code is made from text,
// so the page's policy can forbid eval.

const vega = {};

function loadVega() {
  const loaded = {};
  function load(name) {
    // One part is requested under two names.
    if (name === 'vega-selections') name = 'vega-selection';
    if (!loaded[name]) {
      const module = loaded[name] = {exports: {}};
      vegaParts[name](module.exports, module, load);
    }
    return loaded[name].exports;
  }
  Object.assign(load('vega-dataflow').transforms, load('vega-transforms'),
                load('vega-view-transforms'), load('vega-encode'));
  vega.parse = load('vega-parser').parse;
  vega.View = load('vega-view').View;
  vega.interpreter = load('vega-interpreter').expressionInterpreter;
  load('vega-functions').expressionFunction('assayShort', (value) => short(value));
  load('vega-functions').expressionFunction('assayPercent', (value) => (value > 0 ? '+' : '') + short(100 * value) + '%');
  load('vega-functions').expressionFunction('assaySize', (value) => sizeText(value));
}

/** The figure describes the chart to screen readers; its marks would only repeat it. */
function silence(marks) {
  for (const mark of marks) {
    mark.aria = false;
    silence(mark.marks || []);
  }
}

/** Vega takes a title that is nothing but "constructor" or "toString" for the name of a variable. */
function shieldTitles(guides) {
  for (const guide of guides) {
    if (guide.title in {}) guide.title += ' ';
  }
}

/** A view of `spec`, drawn as SVG into `container`; without one, for an image. */
function viewOf(spec, container) {
  silence(spec.marks);
  shieldTitles([...(spec.axes || []), ...(spec.legends || [])]);
  return new vega.View(vega.parse(spec, null, {ast: true}), {
    renderer: container ? 'svg' : 'none',
    container,
    hover: false,
    expr: vega.interpreter,
  });
}
