// Colours of charts. Series colours can be told apart with every common colour blindness and have a
// contrast of at least 3:1 to the paper; lines differ by dash and mark as well.

const themes = {
  light: {
    paper: '#ffffff', ink: '#1d2430', muted: '#566070', grid: '#e3e7ec', band: '#0072b2',
    margin: '#e6ebf1', greys: ['#6b7686', '#919cab', '#b7c0cc', '#d9dee5'],
    series: ['#0072b2', '#c24d00', '#00785a', '#a3457a', '#6a4fa3', '#7d6200'],
    verdicts: {EQUAL: '#00785a', FASTER: '#0072b2', SLOWER: '#c24d00', SHIFTED: '#7d6200',
               INCONCLUSIVE: '#566070', UNSTABLE: '#6a4fa3', INVALID: '#a3457a'},
  },
  dark: {
    paper: '#161b22', ink: '#e7ebf0', muted: '#a7b0bd', grid: '#2b323c', band: '#56b4e9',
    margin: '#28303a', greys: ['#9aa5b3', '#78838f', '#5a6572', '#3f4955'],
    series: ['#56b4e9', '#f08a3c', '#2fc49a', '#e28fbf', '#b9a3e3', '#d9c35a'],
    verdicts: {EQUAL: '#2fc49a', FASTER: '#56b4e9', SLOWER: '#f08a3c', SHIFTED: '#d9c35a',
               INCONCLUSIVE: '#a7b0bd', UNSTABLE: '#b9a3e3', INVALID: '#e28fbf'},
  },
};

/** Colours of kinds of work on timelines and of parts of a step; what nobody computes is grey. */
function workScale(keys, theme) {
  const [blue, orange, green, pink, violet, gold] = theme.series;
  const colours = {
    'matrix products': blue, computing: blue, collectives: orange, 'collectives, nothing computed': orange,
    copies: gold, 'copies, nothing else': gold, attention: pink, convolutions: violet, 'other kernels': green,
    'host: operations': theme.greys[1], 'host: calls': theme.greys[0], 'host: ranges': theme.greys[2],
    'idle: the host came late': theme.greys[0], 'idle: launched before': theme.greys[1],
    'idle: cause unknown': theme.greys[2], 'idle: until the next step': theme.greys[3],
  };
  return {name: 'colour', type: 'ordinal', domain: keys, range: keys.map((key) => colours[key])};
}

const dashes = [[], [7, 3], [2, 2], [8, 3, 2, 3], [4, 2], [1, 3]];
const shapes = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'triangle-down'];
const verdictShapes = {EQUAL: 'circle', FASTER: 'triangle-left', SLOWER: 'triangle-right', SHIFTED: 'diamond',
                       INCONCLUSIVE: 'square', UNSTABLE: 'cross', INVALID: 'stroke'};

function prefersDark() {
  return window.matchMedia('(prefers-color-scheme: dark)').matches;
}

const chartFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

function configOf(theme) {
  const font = chartFont;
  return {
    aria: false,  // see silence()
    background: theme.paper,
    axis: {
      labelColor: theme.muted, titleColor: theme.ink, domainColor: theme.muted,
      tickColor: theme.muted, gridColor: theme.grid, labelFont: font, titleFont: font,
      labelFontSize: 11, titleFontSize: 12, titleFontWeight: 'normal', titlePadding: 8, labelPadding: 4,
      labelOverlap: 'parity',
    },
    legend: {
      labelColor: theme.ink, titleColor: theme.ink, labelFont: font, titleFont: font,
      labelFontSize: 12, titleFontSize: 12, symbolSize: 90, rowPadding: 4, columnPadding: 18, labelLimit: 260,
    },
    style: {'guide-label': {font}, 'guide-title': {font}},
    text: {font, fontSize: 11, fill: theme.muted},
  };
}
