import { quote } from '../../core/config/problem.ts'
import { fieldNameEquals, isHttpToken } from '../../core/exchange/header-fields.ts'
import type { SampleMessage } from './sample.ts'
import { type SampleNode, type SampleProblems, wrongKind } from './sample-problems.ts'

export const messageKeys = ['headers', 'body', 'bodyText'] as const

type Members = ReadonlyMap<string, SampleNode>

/**
 * Reads the fields and the body of a message. A `body` is taken as it is written in the file, byte for byte, and is
 * `application/json` unless a field says otherwise, as with a client that is given a value to send.
 */
export const readMessage = (members: Members, problems: SampleProblems): SampleMessage => {
  const [headers, body, bodyText] = messageKeys.map((key) => members.get(key))
  const fields = headers === undefined ? [] : readFields(headers, problems)
  if (body !== undefined && bodyText !== undefined)
    problems.add(bodyText.path, bodyText.offset, {
      message: 'there is a body already',
      expected: 'body, or bodyText',
      found: 'both',
      hint: 'body is a JSON value; bodyText is the text of any body, as it is',
    })
  if (body !== undefined) {
    if (!hasType(fields)) fields.push('Content-Type', 'application/json')
    return { fields, body: Buffer.from(problems.textOf(body.node)) }
  }
  if (bodyText === undefined) return { fields, body: Buffer.alloc(0) }
  const { node } = bodyText
  if (node.kind === 'scalar' && typeof node.value === 'string') return { fields, body: Buffer.from(node.value) }
  problems.addAt(bodyText, { ...wrongKind('the text of the body', node), hint: 'for a JSON value, write body' })
  return { fields, body: Buffer.alloc(0) }
}

const hasType = (fields: readonly string[]): boolean =>
  fields.some((name, i) => i % 2 === 0 && fieldNameEquals(name, 'content-type'))

const readFields = (headers: SampleNode, problems: SampleProblems): string[] => {
  const fields: string[] = []
  for (const [name, value] of problems.readMembers(headers, null) ?? []) {
    // RFC 9110 §5.1, §5.6.2
    if (!isHttpToken(name))
      problems.add(value.path, value.offset, {
        message: 'no name of a header field',
        expected: 'letters, digits and hyphens',
        found: quote(name),
      })
    for (const text of readTexts(value, problems)) {
      if (/^[\t -~]*$/.test(text)) fields.push(name, text.trim())
      else
        problems.addAt(value, {
          message: 'no value of a header field',
          expected: 'printable ASCII on one line (RFC 9110 §5.5)',
          found: quote(text),
        })
    }
  }
  return fields
}

/** Reads a query: its text with or without the `?`, or the parameters by name. The result has its `?`, or is empty. */
export const readQuery = (query: SampleNode, problems: SampleProblems): string => {
  const { node } = query
  if (node.kind === 'scalar' && typeof node.value === 'string')
    return node.value === '' || node.value.startsWith('?') ? node.value : `?${node.value}`
  if (node.kind !== 'object') {
    problems.addAt(query, wrongKind('an object of parameters, or the text of the query', node))
    return ''
  }
  const pairs = [...(problems.readMembers(query, null) ?? [])].flatMap(([name, value]) =>
    readTexts(value, problems).map((text) => `${encode(name)}=${encode(text)}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Escapes a part of a query. A comma stays: it separates the items of a list (OpenAPI 3.1 §4.8.12.3). */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',')

/** Reads one text or several. A number or a boolean is the text that is written in the file. */
const readTexts = (value: SampleNode, problems: SampleProblems): readonly string[] => {
  const { node } = value
  const nodes = node.kind === 'array' ? node.items : [node]
  return nodes.flatMap((each): readonly string[] => {
    if (each.kind === 'scalar' && typeof each.value === 'string') return [each.value]
    if (each.kind === 'scalar' && each.value !== null) return [problems.textOf(each)]
    const at = each === node ? value.path : [...value.path, nodes.indexOf(each)]
    problems.add(at, each.start, wrongKind('a text, a number or a boolean, or a list of them', each))
    return []
  })
}
