export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** Null and false render as nothing. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[]

/**
 * Escapes every value but markup. Values may stand only between tags and in attributes with double quotes: escaping
 * does not help in tags, scripts, styles or unquoted attributes.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html =>
  new Html(parts.reduce((text, part, i) => `${text}${renderValue(values[i - 1])}${part}`))

const renderValue = (value: HtmlValue): string => {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.map(renderValue).join('') : escapeHtml(String(value))
}

const escapeHtml = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(invisibleCharacters, '\ufffd')
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

// Bidirectional controls reorder the text beside them; the rest are no HTML characters.
const invisibleCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]/g
