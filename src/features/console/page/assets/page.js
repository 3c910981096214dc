// Keeps the page up to date.
import { draw } from './charts.js'
import { startControls } from './controls.js'
import { findings, show } from './sections.js'
import { listen } from './stream.js'

const live = document.getElementById('live')
const announced = document.getElementById('announced')

/** Shows how fresh the page is. @param {'on' | 'stale' | 'over'} state @param {...(string | Node)} words */
const showState = (state, ...words) => {
  if (live === null) return
  live.dataset.state = state
  live.replaceChildren(...words)
}

/** @param {string} href @param {string} words */
const link = (href, words) => Object.assign(document.createElement('a'), { href, textContent: words })

/** @param {string} at */
const clock = (at) => `${at.slice(11, 19)} UTC`

let at = live?.dataset.at ?? ''
/** Why the stream is stale, as last shown; null: it is not. @type {string | null} */
let stale = null

/** For screen readers. @param {string} words */
const say = (words) => {
  if (announced !== null) announced.textContent = words
}

/** Announces new and resolved findings. @param {ReadonlyMap<string, string>} before @param {readonly string[]} first */
const announce = (before, first) => {
  const now = findings()
  const added = [...now].flatMap(([key, words]) => (before.has(key) ? [] : [words]))
  const ended = [...before].flatMap(([key, words]) => (now.has(key) ? [] : [`No longer: ${words}`]))
  const words = [...first, ...added, ...ended]
  if (words.length > 0) say(words.join('. '))
}

startControls()

listen({
  onTick(tick) {
    const before = findings()
    for (const [name, markup] of Object.entries(tick.sections)) show(name, markup)
    if (tick.charts !== undefined) draw(tick.charts)
    at = tick.at
    const first = stale === null ? [] : ['Live again']
    stale = null
    document.title = `${tick.title} · lender gateway`
    if (import.meta.url.includes(`/${tick.assets}/`)) showState('on', `live, ${clock(at)}`)
    else showState('on', `live, ${clock(at)}, of another version now: `, link('/', 'load it again'))
    announce(before, first)
  },
  onStale(why) {
    if (stale === why) return
    stale = why
    const words = `stale since ${clock(at)}: ${why}`
    showState('stale', words)
    say(words)
  },
  onSessionOver() {
    const words = `stale since ${clock(at)}: your session is over, `
    showState('over', words, link('/login', 'log in again'))
    say(`${words}log in again`)
  },
})
