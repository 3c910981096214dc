// @ts-check
// Brings the sections up to date, and keeps what their reader has selected, focused or opened.

const { Idiomorph } = /** @type {typeof import('idiomorph')} */ (/** @type {unknown} */ (globalThis))

/** @typedef {{ createHTML(text: string): string }} Policy */
/** @typedef {{ trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }} WithPolicies */

// The gateway sends escaped HTML. It comes from nowhere else, and is parsed here only.
const policy = /** @type {WithPolicies} */ (globalThis).trustedTypes?.createPolicy('sections', {
  createHTML: (text) => text,
})

/** Replaces the section of that name. @param {string} name @param {string} markup */
export const show = (name, markup) => {
  const old = document.getElementById(name)
  const next = new DOMParser().parseFromString(policy?.createHTML(markup) ?? markup, 'text/html').body.firstElementChild
  if (old === null || next === null) return
  Idiomorph.morph(old, next, { morphStyle: 'outerHTML', callbacks })
}

/** @type {import('idiomorph').ConfigCallbacks} */
const callbacks = {
  // A drawn chart is not part of the markup.
  beforeNodeMorphed: (old) => !(old instanceof Element && old.classList.contains('chart')),
  // A section that the reader opened stays open.
  beforeAttributeUpdated: (name, element) =>
    !(name === 'open' && element.localName === 'details') && !(name === 'checked' && element.localName === 'input'),
}

// The changing parts of a finding: times, counts, shares, durations and sizes. Digits of a URL, an address, a name, a
// worker or a class of statuses (5xx) are kept.
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
