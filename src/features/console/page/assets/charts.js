// Draws the charts. Hidden from screen readers: words beside each chart say the same.

/** @typedef {{ stepSeconds: number, perSecond: number[], errorsPerSecond: number[], p99Ms: (number | null)[] }} History */
/** @typedef {{ until: number, operations: Readonly<Record<string, History>>, reloads: readonly number[] }} Charts */
/** @typedef {import('uplot')} Plot */
/** @typedef {import('uplot').AlignedData} Data */
/** @typedef {import('uplot').Series} Series */

const uPlot = /** @type {{ uPlot: typeof import('uplot') }} */ (/** @type {unknown} */ (globalThis)).uPlot

/** In seconds. */
const room = 900
const height = 32
const heightWithAxes = 130

/** @type {Map<string, { plot: Plot, element: HTMLElement }>} */
const plots = new Map()

/** @type {Charts} */
let latest = { until: 0, operations: {}, reloads: [] }

/** Draws all charts, or updates them. @param {Charts} charts */
export const draw = (charts) => {
  latest = charts
  for (const element of document.querySelectorAll('.chart')) if (element instanceof HTMLElement) drawIn(element)
}

/** @param {HTMLElement} element */
const drawIn = (element) => {
  const { operation = '', chart = '' } = element.dataset
  const history = operation === 'all' ? addUp(Object.values(latest.operations)) : latest.operations[operation]
  if (history === undefined) return
  const data = chart === 'rate' ? rates(history) : times(history)
  const known = plots.get(element.id)
  if (known !== undefined && known.element === element) return known.plot.setData(data)
  known?.plot.destroy()
  const series = chart === 'rate' ? [line('requests'), line('errors')] : [line('p99')]
  const kind = element.classList.contains('axes') ? optionsWithAxes : options
  const plot = new uPlot({ ...kind, width: widthOf(element), series: [{}, ...series] }, data, element)
  plots.set(element.id, { plot, element })
  resized.observe(element)
}

/**
 * Adds the operations up, and takes the slowest p99. Lists end with the newest step.
 * @param {readonly History[]} histories @returns {History | undefined}
 */
const addUp = (histories) => {
  const [first] = histories
  if (first === undefined) return undefined
  const length = Math.max(...histories.map(({ perSecond }) => perSecond.length))
  /** @param {(history: History) => readonly (number | null)[]} of @param {number} i */
  const at = (of, i) => histories.map((history) => of(history)[i - length + of(history).length] ?? null)
  /** @param {(history: History) => readonly number[]} of @returns {number[]} */
  const sums = (of) =>
    Array.from({ length }, (_, i) => at(of, i).reduce((sum, value) => (sum ?? 0) + (value ?? 0), 0) ?? 0)
  return {
    stepSeconds: first.stepSeconds,
    perSecond: sums(({ perSecond }) => perSecond),
    errorsPerSecond: sums(({ errorsPerSecond }) => errorsPerSecond),
    p99Ms: Array.from({ length }, (_, i) => {
      const known = at(({ p99Ms }) => p99Ms, i).filter((ms) => ms !== null)
      return known.length === 0 ? null : Math.max(...known)
    }),
  }
}

/** Marks when another configuration took effect. @param {Plot} plot */
const drawReloads = (plot) => {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = color('--reload')
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([3 * devicePixelRatio, 2 * devicePixelRatio])
  for (const at of latest.reloads) {
    if (at <= latest.until - room || at > latest.until) continue
    const x = Math.round(plot.valToPos(at, 'x', true))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** @type {Pick<import('uplot').Options, 'height' | 'legend' | 'cursor' | 'axes' | 'scales' | 'padding' | 'hooks'>} */
const options = {
  height,
  padding: [3, 0, 2, 0],
  hooks: { draw: [drawReloads] },
  legend: { show: false },
  cursor: { show: false },
  axes: [{ show: false }, { show: false }],
  scales: {
    x: { time: false, range: () => [latest.until - room, latest.until] },
    y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
  },
}

const axis = {
  stroke: () => color('--quiet'),
  grid: { stroke: () => color('--line'), width: 1 },
  ticks: { stroke: () => color('--line'), width: 1, size: 4 },
  font: '11px system-ui, sans-serif',
}

/** @type {typeof options} */
const optionsWithAxes = {
  ...options,
  height: heightWithAxes,
  padding: [6, 8, 0, 0],
  axes: [
    {
      ...axis,
      size: 22,
      incrs: [60, 300],
      space: 60,
      values: (_, splits) => splits.map((at) => new Date(at * 1000).toISOString().slice(11, 16)),
    },
    { ...axis, size: 44, space: 28 },
  ],
}

/** A value between two gaps is a point. @param {string} name @returns {Series} */
const line = (name) => ({
  width: 1.25,
  stroke: () => color(`--${name}`),
  fill: () => color(`--${name}-below`),
  spanGaps: false,
  points: {
    size: 3,
    fill: () => color(`--${name}`),
    filter: (plot, series) => {
      const values = plot.data[series] ?? []
      return [...values.keys()].filter((i) => values[i] != null && values[i - 1] == null && values[i + 1] == null)
    },
  },
})

/** @param {History} history @returns {Data} */
const rates = ({ stepSeconds, perSecond, errorsPerSecond }) => [
  timesOfSteps(perSecond.length, stepSeconds),
  perSecond,
  errorsPerSecond.map((value) => (value === 0 ? null : value)),
]

/** @param {History} history @returns {Data} */
const times = ({ stepSeconds, p99Ms }) => [timesOfSteps(p99Ms.length, stepSeconds), p99Ms]

/** @param {number} count @param {number} stepSeconds */
const timesOfSteps = (count, stepSeconds) =>
  Array.from({ length: count }, (_, i) => latest.until - (count - 1 - i) * stepSeconds)

// An element resolves the style sheet's colors for light and dark.
const swatch = document.body.appendChild(document.createElement('i'))
swatch.hidden = true

/** @param {string} name */
const color = (name) => {
  swatch.style.color = `var(${name})`
  return getComputedStyle(swatch).color
}

/** @param {HTMLElement} element */
const widthOf = (element) => Math.max(40, Math.floor(element.clientWidth))

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const plot = plots.get(target.id)?.plot
    const width = widthOf(/** @type {HTMLElement} */ (target))
    if (plot !== undefined && plot.width !== width) plot.setSize({ width, height: plot.height })
  }
})

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const { plot } of plots.values()) plot.redraw(false)
})
