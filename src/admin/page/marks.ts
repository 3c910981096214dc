import { type Html, html } from './html.ts'

/** Says how good a state is. Each has a shape of its own, so that nobody depends on colours. */
export type Mood = 'good' | 'notice' | 'warning' | 'bad' | 'off'

const shapes: Readonly<Record<Mood, string>> = { good: '●', notice: '◆', warning: '▲', bad: '■', off: '○' }

/** Writes a state in words, with its shape and its colour. */
export const mark = (mood: Mood, words: string): Html =>
  html`<span class="mark ${mood}"><span aria-hidden="true">${shapes[mood]}</span> ${words}</span>`

/** Writes a link to what can be done; a page asks before anything happens. `about` is heard by whoever does not see what stands beside it. */
export const action = (
  name: string,
  query: Readonly<Record<string, string>>,
  words: string,
  about: string | null = null,
): Html => {
  const asked = new URLSearchParams(query).toString()
  const id = `do-${name}${Object.values(query).map((value) => `-${value}`)}`
  return html`<a class="action" id="${id}" href="/actions/${name}${asked === '' ? '' : `?${asked}`}">${words}${about !== null && html`<span class="unseen"> ${about}</span>`}</a>`
}
