import { isUtf8 } from 'node:buffer'
import type { Config } from '../../core/config/config.ts'
import { notUtf8Problem } from '../../core/config/load/issues.ts'
import { isReadError, readFileWithLimit } from '../../core/config/load/source-files.ts'
import { type ConfigProblem, fileProblem, formatKeyPath, type KeyPath, quote } from '../../core/config/problem.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { createPositionFinder } from '../../core/config/yaml/yaml-nodes.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'
import { getFirstFieldValue, isHttpToken } from '../../core/exchange/header-fields.ts'
import { allOperations } from '../../operations.ts'
import { type JsonNode, jsonProblem, parseJsonNodes } from '../contract/compile/json-nodes.ts'
import { explainRejection, simulateRequest } from '../explain/rejection.ts'
import type { Sample, SampleMessage, SampleResponse } from './check-sample.ts'

const maxSampleBytes = 64 * 1024 ** 2
const maxDepth = 200

export const readSamples = (file: string, config: Config) => {
  const bytes = readFileWithLimit(file, maxSampleBytes)
  if (isReadError(bytes)) {
    const message = `the sample cannot be read: ${bytes.reason}`
    return broken(fileProblem(file, message, 'a JSON file of at most 64MiB', bytes.reason), !bytes.readable)
  }
  if (!isUtf8(bytes)) return broken(notUtf8Problem(bytes, file))
  const text = new TextDecoder().decode(bytes)
  const root = parseJsonNodes(text, maxDepth, '; a deeper body can stand in bodyText')
  if ('expected' in root) return broken(jsonProblem(file, text, 'the sample is not JSON', root))
  const problems = createSampleProblems(file, text)
  const samples = listNodes(root, problems).flatMap((each) => readSample(each, config, problems) ?? [])
  return { samples, problems: problems.list, unreadable: false }
}

const broken = (problem: ConfigProblem, unreadable = false) => ({ samples: [], problems: [problem], unreadable })

const listNodes = (root: JsonNode, problems: SampleProblems): readonly SampleNode[] => {
  const whole = { path: [], node: root, nameStart: root.start }
  if (root.kind !== 'array') return [whole]
  if (root.entries.length === 0)
    problems.add(whole, { message: 'the list is empty', expected: 'at least one sample', found: 'a list' })
  return root.entries.map(({ name, nameStart, value: node }) => ({ path: [name], node, nameStart }))
}

const messageKeys = ['headers', 'body', 'bodyText'] as const
const targetKeys = ['operation', 'method', 'path', 'query'] as const
const sampleKeys = [...targetKeys, ...messageKeys, 'response']
const responseKeys = ['status', ...messageKeys]

const readSample = (from: SampleNode, config: Config, problems: SampleProblems): Sample | null => {
  const before = problems.list.length
  const members = problems.readMembers(from, sampleKeys)
  if (members === null) return null
  const response = members.get('response')
  const isResponseAlone = [...members.keys()].every((key) => key === 'operation' || key === 'response')
  const target = readTarget(from, members, config, problems)
  const message = readMessage(members, problems)
  const readResponse = response === undefined ? null : toResponse(response, problems)
  if (target === null || problems.list.length > before) return null
  return {
    at: problems.at(from.node.start),
    operation: target.operation.id,
    request: response !== undefined && isResponseAlone ? null : { query: target.query, ...message },
    response: readResponse,
  }
}

type Members = ReadonlyMap<string, SampleNode>

const readTarget = (from: SampleNode, members: Members, { listen }: Config, problems: SampleProblems) => {
  const before = problems.list.length
  const line = readRequestLine(from, members, listen.basePath, problems)
  const given = members.get('query')
  const query = given === undefined ? '' : readQuery(given, problems)
  if (line !== null && given !== undefined && line.path.includes('?')) {
    const issue = { message: 'the path has a query already', expected: 'one of the two', found: 'both' }
    problems.add(given, issue, given.nameStart)
  }
  if (line === null || problems.list.length > before) return null
  const { method, path, at } = line
  const simulated = simulateRequest(method, path + query, listen)
  if (simulated.admitted) return simulated
  const { kind } = simulated
  const { differs, hint } = explainRejection(simulated, method, path + query, listen, (key) => key)
  problems.add(at, {
    message: [`the gateway rejects it with ${failureTable[kind].status} ${kind}`, ...differs].join('; '),
    expected: 'a request for one of the nine',
    found: quote(`${method} ${path}${query}`),
    hint,
  })
  return null
}

const readRequestLine = (from: SampleNode, members: Members, basePath: string, problems: SampleProblems) => {
  const [operation, method, path] = targetKeys.map((key) => members.get(key))
  const expected = 'operation, or method and path'
  if (operation !== undefined) {
    const extra = method ?? path
    if (extra !== undefined)
      problems.add(extra, { message: 'the operation is named already', expected, found: 'both' }, extra.nameStart)
    const id = readText(operation, 'the id of one of the nine', problems)
    const known = allOperations.find((each) => each.id === id)
    if (known !== undefined) return { method: known.method, path: basePath + known.path, at: operation }
    if (id === null) return null
    const ids = allOperations.map((each) => each.id)
    const meant = suggestNearest(id, ids)
    problems.add(operation, {
      message: meant === undefined ? 'unknown operation' : `unknown operation; did you mean "${meant}"?`,
      expected: `one of ${ids.join(', ')}`,
      found: quote(id),
    })
    return null
  }
  if (method === undefined || path === undefined) {
    const [missing, found] =
      method !== undefined ? ['path', 'method alone'] : path !== undefined ? ['method', 'path alone'] : noTarget
    problems.add(from, {
      message: `${missing} is missing`,
      expected: 'operation, such as "market.insights", or method and path',
      found,
    })
    return null
  }
  const verb = readText(method, 'GET or POST', problems)
  const target = readText(path, 'a path such as /market/insights', problems)
  return verb === null || target === null ? null : { method: verb, path: target, at: path }
}

const noTarget = ['operation', 'none of them'] as const

const readText = (from: SampleNode, expected: string, problems: SampleProblems): string | null => {
  const text = stringIn(from.node)
  if (text === null) problems.add(from, wrongKind(expected, from.node))
  return text
}

const toResponse = (from: SampleNode, problems: SampleProblems): SampleResponse | null => {
  const members = problems.readMembers(from, responseKeys)
  if (members === null) return null
  const message = readMessage(members, problems)
  const status = members.get('status')
  const code = status?.node.kind === 'scalar' && Number.isInteger(status.node.value) ? Number(status.node.value) : 0
  if (code >= 200 && code <= 999) return { status: code, ...message }
  if (status !== undefined) problems.add(status, wrongKind('the number of a final status, 200 to 999', status.node))
  else problems.add(from, { message: 'status is missing', expected: 'a status such as 200', found: 'nothing' })
  return null
}

/** `body` is taken byte for byte, and is `application/json` unless a field says otherwise. */
const readMessage = (members: Members, problems: SampleProblems): SampleMessage => {
  const [headers, body, bodyText] = messageKeys.map((key) => members.get(key))
  const fields = headers === undefined ? [] : readFields(headers, problems)
  if (body !== undefined && bodyText !== undefined) {
    const hint = 'body is a JSON value; bodyText is the text of any body, as it is'
    const issue = { message: 'there is a body already', expected: 'body, or bodyText', found: 'both', hint }
    problems.add(bodyText, issue, bodyText.nameStart)
  }
  if (body !== undefined) {
    if (getFirstFieldValue(fields, 'content-type') === undefined) fields.push('Content-Type', 'application/json')
    return { fields, body: Buffer.from(problems.textOf(body.node)) }
  }
  const text = bodyText && stringIn(bodyText.node)
  if (bodyText !== undefined && text === null)
    problems.add(bodyText, {
      ...wrongKind('the text of the body', bodyText.node),
      hint: 'for a JSON value, write body',
    })
  return { fields, body: Buffer.from(text ?? '') }
}

const readFields = (headers: SampleNode, problems: SampleProblems): string[] => {
  const fields: string[] = []
  for (const [name, value] of problems.readMembers(headers, null) ?? []) {
    // RFC 9110 §5.1, §5.6.2
    if (!isHttpToken(name)) {
      const expected = 'letters, digits and hyphens'
      problems.add(value, { message: 'no name of a header field', expected, found: quote(name) }, value.nameStart)
    }
    for (const text of readTexts(value, problems)) {
      const expected = 'printable ASCII on one line (RFC 9110 §5.5)'
      if (/^[\t -~]*$/.test(text)) fields.push(name, text.trim())
      else problems.add(value, { message: 'no value of a header field', expected, found: quote(text) })
    }
  }
  return fields
}

/** The result has its `?`, or is empty. */
const readQuery = (query: SampleNode, problems: SampleProblems): string => {
  const text = stringIn(query.node)
  if (text !== null) return text === '' || text.startsWith('?') ? text : `?${text}`
  if (query.node.kind !== 'object') {
    problems.add(query, wrongKind('an object of parameters, or the text of the query', query.node))
    return ''
  }
  const pairs = [...(problems.readMembers(query, null) ?? [])].flatMap(([name, value]) =>
    readTexts(value, problems).map((text) => `${encode(name)}=${encode(text)}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** A comma stays: it separates the items of a list (OpenAPI 3.1 §4.8.12.3). */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',')

/** A number or a boolean keeps its spelling in the file. */
const readTexts = (value: SampleNode, problems: SampleProblems): readonly string[] => {
  const entries = value.node.kind === 'array' ? value.node.entries : null
  const items = entries?.map(({ name, value: node }) => ({ path: [...value.path, name], node })) ?? [value]
  return items.flatMap((item) => {
    const { node } = item
    if (node.kind === 'scalar' && node.value !== null) return [stringIn(node) ?? problems.textOf(node)]
    problems.add(item, wrongKind('a text, a number or a boolean, or a list of them', node))
    return []
  })
}

type SampleIssue = Pick<ConfigProblem, 'message' | 'expected' | 'found' | 'hint'>

interface SampleNode {
  readonly path: KeyPath
  readonly node: JsonNode
  readonly nameStart: number
}

type SampleProblems = ReturnType<typeof createSampleProblems>

const createSampleProblems = (file: string, text: string) => {
  const list: ConfigProblem[] = []
  const at = createPositionFinder(text)
  const add = ({ path, node }: Pick<SampleNode, 'path' | 'node'>, issue: SampleIssue, offset = node.start): void => {
    list.push({ file, ...at(offset), path: formatKeyPath(path), ...issue })
  }
  return {
    list,
    at,
    add,
    textOf: ({ start, end }: JsonNode): string => text.slice(start, end),
    readMembers(from: SampleNode, known: readonly string[] | null): Members | null {
      if (from.node.kind !== 'object') {
        add(from, wrongKind('an object', from.node))
        return null
      }
      const members = new Map<string, SampleNode>()
      for (const { name: key, nameStart, value: node } of from.node.entries) {
        const name = `${key}`
        const member = { path: [...from.path, name], node, nameStart }
        const found = quote(name)
        if (known !== null && !known.includes(name)) add(member, unknownName(name, known), nameStart)
        else if (members.has(name))
          add(member, { message: 'the name is there twice', expected: 'each name once', found }, nameStart)
        else members.set(name, member)
      }
      return members
    },
  }
}

const stringIn = (node: JsonNode): string | null =>
  node.kind === 'scalar' && typeof node.value === 'string' ? node.value : null

const wrongKind = (expected: string, node: JsonNode): SampleIssue => ({
  message: 'the wrong kind of value',
  expected,
  found: describeNode(node),
})

const describeNode = (node: JsonNode): string => {
  if (node.kind !== 'scalar') return node.kind === 'array' ? 'a list' : 'an object'
  return typeof node.value === 'string' ? quote(node.value) : String(node.value).slice(0, 60)
}

const unknownName = (name: string, known: readonly string[]): SampleIssue => {
  const meant = suggestNearest(name, known)
  const message = meant === undefined ? 'unknown key' : `unknown key; did you mean "${meant}"?`
  return { message, expected: `one of ${known.join(', ')}`, found: quote(name) }
}
