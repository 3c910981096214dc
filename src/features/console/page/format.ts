/** Formats a rate per second: `120`, `12.3`, `0.04`; anything rarer as `< 0.01`. */
export const formatPerSecond = (perSecond: number): string => {
  if (perSecond === 0) return '0'
  if (perSecond < 0.01) return '< 0.01'
  return perSecond < 1 ? perSecond.toFixed(2) : perSecond < 100 ? perSecond.toFixed(1) : formatCount(perSecond)
}

/** Formats a count in groups of three digits, without a line break between them. */
export const formatCount = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')

/** Formats milliseconds: `0.8 ms`, `31 ms`, `1.25 s`. Null, not measured: a dash. */
export const formatMilliseconds = (ms: number | null): string => {
  if (ms === null) return '–'
  if (ms >= 9950) return `${(ms / 1000).toFixed(1)} s`
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`
  return ms < 9.95 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** Formats `1 request`, `2 requests`. */
export const formatCounted = (value: number, one: string, many = `${one}s`): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`
