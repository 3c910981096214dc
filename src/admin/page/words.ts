import { type Html, html } from './html.ts'

/** Writes how often something happens in a second: `120`, `12.3`, `0.04`; what is too rare to be written so as `< 0.01`. */
export const rate = (perSecond: number): string => {
  if (perSecond === 0) return '0'
  if (perSecond < 0.01) return '< 0.01'
  return perSecond < 1 ? perSecond.toFixed(2) : perSecond < 100 ? perSecond.toFixed(1) : count(perSecond)
}

/** Writes a number of things, in groups of three digits that no line ends between. */
export const count = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')

/** Writes milliseconds: `0.8 ms`, `31 ms`, `1.25 s`; null as a dash, because nothing was measured. */
export const milliseconds = (ms: number | null): string => {
  if (ms === null) return '–'
  if (ms >= 9950) return `${(ms / 1000).toFixed(1)} s`
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`
  return ms < 9.95 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** Writes how long something is ago, or lasts: to the minute, since it is looked at every second. */
export const age = (ms: number): string => {
  const minutes = Math.floor(Math.abs(ms) / 60_000)
  if (minutes < 1) return 'under 1 min'
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  return hours % 24 === 0 || days > 9 ? `${days} d` : `${days} d ${hours % 24} h`
}

/** Writes a time (RFC 3339) as the logs have it, in UTC: the hour if it is of the same day as `at`, else the day as well. */
export const moment = (at: string, time: string): Html =>
  html`<time datetime="${time}" title="${time}">${time.slice(0, 10) === at.slice(0, 10) ? '' : `${time.slice(0, 10)} `}${time.slice(11, 19)}</time>`

/** Writes since when something is so, and how long that is. */
export const since = (at: string, time: string | null): Html | null =>
  time === null ? null : html`${moment(at, time)} <span class="age">(${age(Date.parse(at) - Date.parse(time))})</span>`

/** Writes until when something holds, and how long that is. */
export const until = (at: string, time: string): Html =>
  html`${moment(at, time)} <span class="age">(${age(Date.parse(time) - Date.parse(at))} left)</span>`

/** Writes `1 request`, `2 requests`. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`

/** Cuts a text to what a cell holds. */
export const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** Says how good a state is. Each has a shape of its own, so that nobody depends on colours. */
export type Mood = 'good' | 'notice' | 'warning' | 'bad' | 'off'

const shapes: Readonly<Record<Mood, string>> = { good: '●', notice: '◆', warning: '▲', bad: '■', off: '○' }

/** Writes a state in words, with its shape and its colour. */
export const mark = (mood: Mood, words: string): Html =>
  html`<span class="mark ${mood}"><span aria-hidden="true">${shapes[mood]}</span> ${words}</span>`
