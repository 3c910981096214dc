import { iprivate, isEncoded, ucschar } from './resource-identifier.ts'

// RFC 6570 §2.1, with erratum 6937: an apostrophe is a literal.
const literals = new RegExp(String.raw`^[!#$%&-;=?-\[\]_a-z~${ucschar}${iprivate}]*$`, 'u')

/** Tells whether a text is a URI template (RFC 6570 §2). */
export const isUriTemplate = (text: string): boolean => {
  if (!isEncoded(text)) return false
  let start = 0
  for (let open = text.indexOf('{'); open !== -1; open = text.indexOf('{', start)) {
    const close = text.indexOf('}', open)
    if (close === -1 || !literals.test(text.slice(start, open)) || !isExpression(text.slice(open + 1, close)))
      return false
    start = close + 1
  }
  return literals.test(text.slice(start))
}

/** Tells whether a text is an operator and names of variables (RFC 6570 §2.2 to §2.4). */
const isExpression = (text: string): boolean =>
  text
    .replace(/^[+#./;?&=,!@|]/, '')
    .split(',')
    .every(isVariable)

const isVariable = (text: string): boolean => {
  const [, name = ''] = /^([^:*]+)(?:\*|:[1-9]\d{0,3})?$/.exec(text) ?? []
  return name !== '' && !/[^\w%.]/.test(name) && !/^\.|\.$|\.\./.test(name)
}
