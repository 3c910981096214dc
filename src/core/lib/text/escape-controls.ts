// C1 controls with DEL, Unicode's Bidi_Control characters, and its two line separators.
const beyondAscii = '\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069'

const controls = new RegExp(`[\\0-\\x1f${beyondAscii}]`, 'g')

/** Text from the network, or pasted text, could control the terminal. */
export const escapeControls = (text: string): string =>
  text.replaceAll(controls, (character) => {
    const code = character.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : toUnicodeEscape(character)
  })

/** Allowed unescaped in quoted text of JSON (RFC 8259 §7) and YAML. */
export const quotableControls = new RegExp(`[${beyondAscii}]`)

const everyQuotable = new RegExp(quotableControls, 'g')

/** For JSON or YAML with such characters only in quoted text. */
export const escapeQuotedControls = (document: string): string =>
  quotableControls.test(document) ? document.replaceAll(everyQuotable, toUnicodeEscape) : document

/** Doubles JSON's escapes of controls but line feed and tab: a parser yields the escape. */
export const doubleEscapes = (json: string): string =>
  json.replaceAll(/\\(?:\\|u[\da-fA-F]{4}|[bfr])/g, (found) => (found === '\\\\' ? found : `\\${found}`))

const toUnicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
