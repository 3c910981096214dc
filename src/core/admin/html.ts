/** Markup that stands in a page as it is. Only `html` creates it: anything else in a page is text. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** A value in a page. Text is escaped; null and false are nothing; the members of a list follow each other. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[]

/**
 * Renders markup, in which every value is text unless it is markup itself. A value may stand between tags, or as an
 * attribute in double quotes, and nowhere else: in a tag, a script, a style or an attribute without quotes no escaping
 * helps.
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

// Invisible characters may turn around the text beside them, or are none of HTML's characters at all.
const invisibleCharacters =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]/g
