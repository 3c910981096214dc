// Updates the sections, and keeps what the reader has selected, focused or opened.

const { Idiomorph } = /** @type {typeof import('idiomorph')} */ (/** @type {unknown} */ (globalThis))

/** @typedef {{ createHTML(text: string): string }} Policy */
/** @typedef {{ trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }} WithPolicies */

// The only place that parses HTML. The gateway has escaped it.
const policy = /** @type {WithPolicies} */ (globalThis).trustedTypes?.createPolicy('sections', {
  createHTML: (text) => text,
})

/** @param {string} name @param {string} markup */
export const show = (name, markup) => {
  const old = document.getElementById(name)
  const next = new DOMParser().parseFromString(policy?.createHTML(markup) ?? markup, 'text/html').body.firstElementChild
  if (old === null || next === null) return
  Idiomorph.morph(old, next, { morphStyle: 'outerHTML', callbacks })
}

/** @type {import('idiomorph').ConfigCallbacks} */
const callbacks = {
  beforeNodeMorphed: (old) => !(old instanceof Element && old.classList.contains('chart')),
  beforeAttributeUpdated: (name, element) =>
    !(name === 'open' && element.localName === 'details') && !(name === 'checked' && element.localName === 'input'),
}

// Times, counts, shares, durations and sizes. Digits of a URL, address, name, worker or status class (5xx) stay.
const changing =
  /\d{4}-\d\d-\d\dT[\d:.]+Z|\d\d:\d\d:\d\d|(?<=[ (])(?<!worker )\d+(?:\.\d+)?(?:ms|[smh]| ?(?:[KMGT]i)?B)?(?=[ ,;)]|$)/g

/** @param {string} words */
export const toStableWords = (words) => words.replaceAll(changing, '')

/** Findings that differ only in numbers and times are the same. @returns {ReadonlyMap<string, string>} */
export const findings = () =>
  new Map(
    [...document.querySelectorAll('#findings [data-about]')].map((found) => {
      const { about = '', severity = '' } = found instanceof HTMLElement ? found.dataset : {}
      const words = `${severity} ${about} ${found.querySelector('.words')?.textContent}`
      return [toStableWords(words), words]
    }),
  )
