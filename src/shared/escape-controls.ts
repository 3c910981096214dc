/** Escapes control characters, so that text from the network, or a pasted one, does not control the terminal. */
export const escapeControls = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  text.replaceAll(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
