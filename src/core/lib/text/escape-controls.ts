// C1 controls with DEL, the characters of Unicode's property Bidi_Control, and its two line separators.
const beyondAscii = '\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069'

const controls = new RegExp(`[\\0-\\x1f${beyondAscii}]`, 'g')

/** Escapes control characters, so that text from the network, or a pasted one, does not control the terminal. */
export const escapeControls = (text: string): string =>
  text.replaceAll(controls, (character) => {
    const code = character.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : toUnicodeEscape(character)
  })

/**
 * The characters that control a terminal and stand as they are in quoted text of JSON (RFC 8259 §7) and of YAML, which
 * have escapes for them.
 */
export const quotableControls = new RegExp(`[${beyondAscii}]`)

const everyQuotable = new RegExp(quotableControls, 'g')

/** Escapes them in a document of JSON or YAML that has them in quoted text alone: it means the same. */
export const escapeQuotedControls = (document: string): string =>
  quotableControls.test(document) ? document.replaceAll(everyQuotable, toUnicodeEscape) : document

/** Doubles the escapes of JSON for characters that have one, but line feed and tab: who parses it gets the escape. */
export const doubleEscapes = (json: string): string =>
  json.replaceAll(/\\(?:\\|u[\da-fA-F]{4}|[bfr])/g, (found) => (found === '\\\\' ? found : `\\${found}`))

const toUnicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
