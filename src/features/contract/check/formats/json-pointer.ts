/** Tells whether a text is a JSON pointer (RFC 6901 §3). */
export const isJsonPointer = (text: string): boolean => (text === '' || text[0] === '/') && !/~(?![01])/.test(text)

/** Tells whether a text is a JSON pointer in a fragment of a URI (RFC 6901 §6). */
export const isPointerFragment = (text: string): boolean =>
  text[0] === '#' && isJsonPointer(text.slice(1)) && !/[^\w\-.!$&'()*+,;:=@%~/]|%(?![\da-f]{2})/i.test(text.slice(1))

/** Tells whether a text is a relative JSON pointer (draft-bhutton-relative-json-pointer-00 §3). */
export const isRelativeJsonPointer = (text: string): boolean => {
  const [start = '', shift] = /^(?:0|[1-9]\d*)([+-](?:0|[1-9]\d*))?/.exec(text) ?? []
  const rest = text.slice(start.length)
  return start !== '' && (isJsonPointer(rest) || (rest === '#' && shift === undefined))
}
