/** Escapes control characters, so that text from the network, or a pasted one, does not control the terminal. */
export const escapeControls = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  text.replaceAll(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : toUnicodeEscape(character)
  })

/**
 * The characters that control a terminal and stand as they are in quoted text of JSON (RFC 8259 §7) and of YAML, which
 * have escapes for them.
 */
export const quotableControls = /[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/

/** Escapes them in a document of JSON or YAML that has them in quoted text alone: it means the same. */
export const escapeQuotedControls = (document: string): string =>
  document.replaceAll(new RegExp(quotableControls, 'g'), toUnicodeEscape)

const toUnicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
