// @ts-check
// Brings the sections up to date, without taking away what whoever reads them has selected, focused or opened.

const { Idiomorph } = /** @type {typeof import('idiomorph')} */ (/** @type {unknown} */ (globalThis))

/** @typedef {{ createHTML(text: string): string }} Policy */
/** @typedef {{ trustedTypes?: { createPolicy(name: string, rules: Policy): Policy } }} WithPolicies */

// What the gateway sends is HTML that it has escaped. It comes from nowhere else, and is read here and nowhere else.
const policy = /** @type {WithPolicies} */ (globalThis).trustedTypes?.createPolicy('sections', {
  createHTML: (text) => text,
})

/**
 * Puts a section in the place of the one of the same name.
 * @param {string} name
 * @param {string} written
 */
export const show = (name, written) => {
  const old = document.getElementById(name)
  const next = new DOMParser().parseFromString(policy?.createHTML(written) ?? written, 'text/html').body
    .firstElementChild
  if (old === null || next === null) return
  Idiomorph.morph(old, next, { morphStyle: 'outerHTML', callbacks })
}

/** @type {import('idiomorph').ConfigCallbacks} */
const callbacks = {
  // What is drawn in a chart is not in what is sent.
  beforeNodeMorphed: (old) => !(old instanceof Element && old.classList.contains('chart')),
  // Whoever has opened it wants it open.
  beforeAttributeUpdated: (name, element) => !(name === 'open' && element.localName === 'details'),
}

/**
 * Lists what is wrong, as the section says it; what is told apart by numbers and times only is the same.
 * @returns {ReadonlyMap<string, string>}
 */
export const findings = () =>
  new Map(
    [...document.querySelectorAll('#findings [data-about] .cause')].map(({ textContent: words }) => [
      words.replaceAll(/(?<= )\d+(?= )|\d{4}-\d\d-\d\dT[\d:.]+Z/g, ''),
      words,
    ]),
  )
