// @ts-check
// Draws the small charts. The words beside a chart say what it shows, so it is hidden from screen readers.

/** @typedef {{ stepSeconds: number, perSecond: number[], errorsPerSecond: number[], p99Ms: (number | null)[] }} History */
/** @typedef {import('uplot')} Plot */
/** @typedef {import('uplot').AlignedData} Data */
/** @typedef {import('uplot').Series} Series */

const uPlot = /** @type {{ uPlot: typeof import('uplot') }} */ (/** @type {unknown} */ (globalThis)).uPlot

/** How many steps a chart has room for: 15 minutes of 5 s each. */
const room = 180
const height = 32

/** @type {Map<string, { plot: Plot, element: HTMLElement }>} */
const plots = new Map()

/** @type {Readonly<Record<string, History>>} */
let latest = {}

/**
 * Draws what there is of each operation; what is drawn already is drawn on.
 * @param {Readonly<Record<string, History>>} histories
 */
export const draw = (histories) => {
  latest = histories
  for (const element of document.querySelectorAll('.chart')) if (element instanceof HTMLElement) drawIn(element)
}

/** @param {HTMLElement} element */
const drawIn = (element) => {
  const { operation = '', chart = '' } = element.dataset
  const history = latest[operation]
  if (history === undefined) return
  const data = chart === 'rate' ? rates(history) : times(history)
  const known = plots.get(element.id)
  if (known !== undefined && known.element === element) return known.plot.setData(data)
  known?.plot.destroy()
  const series = chart === 'rate' ? [line('requests'), line('errors')] : [line('p99')]
  const plot = new uPlot({ ...options, width: widthOf(element), series: [{}, ...series] }, data, element)
  plots.set(element.id, { plot, element })
  resized.observe(element)
}

/** @type {Pick<import('uplot').Options, 'height' | 'legend' | 'cursor' | 'axes' | 'scales' | 'padding'>} */
const options = {
  height,
  padding: [3, 0, 2, 0],
  legend: { show: false },
  cursor: { show: false },
  axes: [{ show: false }, { show: false }],
  scales: {
    x: { time: false, range: [0, room - 1] },
    y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
  },
}

/**
 * What is alone between gaps is a point, since no line leads to it.
 * @param {string} name
 * @returns {Series}
 */
const line = (name) => ({
  width: 1.25,
  stroke: () => colour(`--${name}`),
  fill: () => colour(`--${name}-below`),
  spanGaps: false,
  points: {
    size: 3,
    fill: () => colour(`--${name}`),
    filter: (plot, series) => {
      const values = plot.data[series] ?? []
      return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null)
    },
  },
})

/** @param {History} history @returns {Data} */
const rates = ({ perSecond, errorsPerSecond }) => [
  places(perSecond.length),
  perSecond,
  errorsPerSecond.map((value) => (value === 0 ? null : value)), // no line where there is nothing to see
]

/** @param {History} history @returns {Data} */
const times = ({ p99Ms }) => [places(p99Ms.length), p99Ms]

/** The newest stands at the right. @param {number} count */
const places = (count) => Array.from({ length: count }, (_, i) => room - count + i)

// The style sheet has one colour for light and one for dark. An element that has it knows which one it is.
const swatch = document.body.appendChild(document.createElement('i'))
swatch.hidden = true

/** @param {string} name */
const colour = (name) => {
  swatch.style.color = `var(${name})`
  return getComputedStyle(swatch).color
}

/** @param {HTMLElement} element */
const widthOf = (element) => Math.max(40, Math.floor(element.clientWidth))

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const plot = plots.get(target.id)?.plot
    const width = widthOf(/** @type {HTMLElement} */ (target))
    if (plot !== undefined && plot.width !== width) plot.setSize({ width, height })
  }
})

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const { plot } of plots.values()) plot.redraw(false)
})
