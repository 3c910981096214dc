declare const unit: unique symbol

/** Accepts a plain number, not a number of another unit. */
type Unit<U extends string> = number & { readonly [unit]?: U }

export type Milliseconds = Unit<'ms'>

export type Bytes = Unit<'B'>

export type BytesPerSecond = Unit<'B/s'>

/** From 0 to 1. */
export type Fraction = Unit<'share'>

const timeUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const

const sizeUnits = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 } as const

export interface Notation<N = number> {
  readonly pattern: string
  parse(text: string): N | undefined
  format(value: N): string
  suggest(text: string): string | undefined
}

/** `250ms`, `2s`, `1m` or `1h`, in the largest unit that leaves a whole number. */
export const durations: Notation<Milliseconds> = {
  ...wholeNumbersOf(timeUnits),
  // `2`, `1.5s`, `2 sec` or `1m30s`.
  suggest(text) {
    const compact = text.trim().toLowerCase().replaceAll(/\s/g, '')
    if (/^\d+$/.test(compact)) return `${compact}s`
    if (!/^(\d+(\.\d+)?[a-z]+)+$/.test(compact)) return undefined
    let ms = 0
    for (const [, amount, unit] of compact.matchAll(/(\d+(?:\.\d+)?)([a-z]+)/g)) {
      const length = informalTimeUnits.find(([pattern]) => pattern.test(unit ?? ''))?.[1]
      if (length === undefined) return undefined
      ms += Number(amount) * length
    }
    return guess(ms, formatDuration)
  },
}

const wholeSizes = wholeNumbersOf(sizeUnits)

/** `10B`, `64KiB`, `1MiB`, `1GiB` or `1TiB`, in the largest unit that leaves a whole number. */
export const sizes: Notation<Bytes> = {
  ...wholeSizes,
  // `1024`, `64k`, `10MB` or `1.5 GiB`.
  suggest(text) {
    const [, amount, unit] = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b|bytes?)?\s*$/i.exec(text) ?? []
    if (amount === undefined || unit === undefined) return undefined
    return guess(Number(amount) * 1024 ** ' kmgt'.indexOf(unit.toLowerCase() || ' '), formatSize)
  },
}

/** `240B/s` or `1KiB/s`. */
export const byteRates: Notation<BytesPerSecond> = {
  pattern: wholeSizes.pattern.replace('$', '/s$'),
  parse: (text) => (text.endsWith('/s') ? wholeSizes.parse(text.slice(0, -2)) : undefined),
  format: (bytes) => `${wholeSizes.format(bytes)}/s`,
  // `240`, `1KiB`, `1 kB/s` or `1KiBps`.
  suggest(text) {
    const size = sizes.suggest(text.replace(/\s*(?:\/\s*s(?:ec)?|ps)\s*$/i, ''))
    return size && `${size}/s`
  },
}

/** To a thousandth: `10%` or `0.5%`. */
export const percentages: Notation<Fraction> = {
  pattern: '^[0-9]{1,3}(\\.[0-9]{1,3})?%$',
  parse(text) {
    // From a whole number, so that 33.333% equals 0.33333.
    return /^\d{1,3}(\.\d{1,3})?%$/.test(text) ? Math.round(Number.parseFloat(text) * 1000) / 100_000 : undefined
  },
  format: (share) => `${Number((share * 100).toFixed(3))}%`,
  // `10`, `10 %`, `10 percent` or the share `0.1`.
  suggest(text) {
    const [, amount, unit] = /^\s*(\d{0,3}(?:\.\d+)?)\s*(%|percent|pct)?\s*$/i.exec(text) ?? []
    if (amount === undefined || amount === '') return undefined
    const isShare = unit === undefined && Number(amount) > 0 && Number(amount) < 1
    return formatPercent(isShare ? Number(amount) : Number(amount) / 100)
  },
}

/** `2x` or `1.5x`. */
export const multiples: Notation = {
  pattern: '^[0-9]{1,3}(\\.[0-9]{1,2})?x$',
  parse: (text) => (/^\d{1,3}(\.\d{1,2})?x$/.test(text) ? Number.parseFloat(text) : undefined),
  format: (factor) => `${Number(factor.toFixed(2))}x`,
  // `2`, `2 x`, `2 times` or `x2`.
  suggest(text) {
    const [, before, after] = /^\s*(?:(\d{1,3}(?:\.\d+)?)\s*(?:x|times)?|x\s*(\d{1,3}(?:\.\d+)?))\s*$/i.exec(text) ?? []
    const amount = before ?? after
    return amount === undefined ? undefined : multiples.format(Number(amount))
  },
}

export const formatDuration = durations.format

export const formatSize = sizes.format

export const formatPercent = percentages.format

/** 1234567 → `1.2 MiB`. */
export const formatRoundedSize = (bytes: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

/** `3 %`, `0.4 %`. Rounding never yields 0 % or 100 %. */
export const formatShare = (part: number, whole: number): string => {
  if (part === 0 || part >= whole) return part === 0 ? '0 %' : '100 %'
  const percent = (part / whole) * 100
  if (percent < 0.1) return 'under 0.1 %'
  return `${percent < 10 ? Number(percent.toFixed(1)) : Math.min(99, Math.round(percent))} %`
}

export const roundToTenths = (value: number): number => Math.round(value * 10) / 10

const informalTimeUnits: readonly (readonly [RegExp, number])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/, timeUnits.ms],
  [/^(s|secs?|seconds?)$/, timeUnits.s],
  [/^(m|mins?|minutes?)$/, timeUnits.m],
  [/^(h|hrs?|hours?)$/, timeUnits.h],
  [/^(d|days?)$/, 24 * timeUnits.h],
]

function wholeNumbersOf(units: Readonly<Record<string, number>>): Omit<Notation, 'suggest'> {
  return {
    pattern: `^[0-9]+(${Object.keys(units).join('|')})$`,
    parse(text) {
      const [, amount, unit] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? []
      if (amount === undefined || unit === undefined || !Object.hasOwn(units, unit)) return undefined
      const value = Number(amount) * (units[unit] ?? Number.NaN)
      // Beyond this, neighboring numbers are equal.
      return Number.isSafeInteger(value) ? value : undefined
    },
    format(value) {
      let written = `${value}`
      for (const [unit, factor] of Object.entries(units))
        if (factor === 1 || (value !== 0 && value % factor === 0)) written = `${value / factor}${unit}`
      return written
    },
  }
}

const guess = (value: number, write: (value: number) => string): string | undefined =>
  Number.isSafeInteger(value) ? write(value) : undefined

export interface Rate {
  readonly count: number
  /** A second or a minute. */
  readonly perMs: number
}

/** `100/s` or `30/min`. */
export const requestRates: Notation<Rate> = {
  pattern: '^[0-9]{1,9}/(s|min)$',
  parse(text) {
    const [, count, unit] = /^(\d{1,9})\/(s|min)$/.exec(text) ?? []
    return count === undefined ? undefined : { count: Number(count), perMs: unit === 's' ? timeUnits.s : timeUnits.m }
  },
  format: ({ count, perMs }) => `${count}/${perMs === timeUnits.s ? 's' : 'min'}`,
  // `100`, `100/sec`, `100 rps` or `5 / minute`.
  suggest(text) {
    const [, count, unit = ''] = /^\s*(\d+)\s*(?:\/|per\b|r\/)?\s*([a-z]*)\s*$/i.exec(text) ?? []
    if (count === undefined) return undefined
    if (/^(|s|secs?|seconds?|rps)$/i.test(unit)) return `${Number(count)}/s`
    return /^(m|mins?|minutes?|rpm)$/i.test(unit) ? `${Number(count)}/min` : undefined
  },
}

export const formatAge = (ms: number): string => {
  const minutes = Math.floor(Math.abs(ms) / 60_000)
  if (minutes < 1) return 'under 1 min'
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  return hours % 24 === 0 || days > 9 ? `${days} d` : `${days} d ${hours % 24} h`
}
