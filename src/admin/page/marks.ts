import type { Link } from '../commands/command.ts'
import { type Html, html } from './html.ts'

/** Says how good a state is. Each has a shape of its own, so that nobody depends on colours. */
export type Mood = 'good' | 'notice' | 'warning' | 'bad' | 'off'

const shapes: Readonly<Record<Mood, string>> = { good: '●', notice: '◆', warning: '▲', bad: '■', off: '○' }

/** Writes a state in words, with its shape and its colour. */
export const mark = (mood: Mood, words: string): Html =>
  html`<span class="mark ${mood}"><span aria-hidden="true">${shapes[mood]}</span> ${words}</span>`

/** Writes a link to the page of a command, which asks before anything happens. */
export const action = (page: string, { given, words, about }: Link): Html => {
  const id = `do-${page}${Object.values(given).map((value) => `-${value}`)}`
  return html`<a class="action" id="${id}" href="${hrefOf(page, given)}">${words}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</a>`
}

/** Tells where the page of a command is. */
export const hrefOf = (page: string, given: Link['given'] = {}): string => {
  const query = new URLSearchParams(given).toString()
  return `/actions/${page}${query === '' ? '' : `?${query}`}`
}
