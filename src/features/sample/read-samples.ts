import { isUtf8 } from 'node:buffer'
import type { Config } from '../../core/config/config.ts'
import { notUtf8Problem } from '../../core/config/load/issues.ts'
import { isReadError, readFileWithLimit } from '../../core/config/load/source-files.ts'
import { type ConfigProblem, fileProblem, quote } from '../../core/config/problem.ts'
import { suggestNearest } from '../../core/config/suggest.ts'
import { failureTable } from '../../core/exchange/failures/kinds.ts'
import { fieldNameEquals, isHttpToken } from '../../core/exchange/header-fields.ts'
import { allOperations, type Operation } from '../../operations.ts'
import { type JsonNode, jsonProblem, parseJsonNodes } from '../contract/compile/json-nodes.ts'
import { explainRejection, simulateRequest } from '../explain/rejection.ts'
import type { Sample, SampleMessage, SampleResponse } from './check-sample.ts'
import { type SampleNode, SampleProblems, wrongKind } from './sample-problems.ts'

interface SampleFile {
  readonly samples: readonly Sample[]
  readonly problems: readonly ConfigProblem[]
  readonly unreadable: boolean
}

const maxSampleBytes = 64 * 1024 ** 2
const maxDepth = 200

/** An object, or a list of them. Sends nothing. */
export const readSamples = (file: string, config: Config): SampleFile => {
  const bytes = readFileWithLimit(file, maxSampleBytes)
  if (isReadError(bytes)) {
    const message = `the sample cannot be read: ${bytes.reason}`
    return broken(fileProblem(file, message, 'a JSON file of at most 64MiB', bytes.reason), !bytes.readable)
  }
  if (!isUtf8(bytes)) return broken(notUtf8Problem(bytes, file))
  const text = new TextDecoder().decode(bytes)
  const root = parseJsonNodes(text, maxDepth, '; a deeper body can stand in bodyText')
  if ('expected' in root) return broken(jsonProblem(file, text, 'the sample is not JSON', root))
  const problems = new SampleProblems(file, text)
  const samples: Sample[] = []
  for (const each of listNodes(root, problems)) {
    const sample = readSample(each, config, problems)
    if (sample !== null) samples.push(sample)
  }
  return { samples, problems: problems.list, unreadable: false }
}

const broken = (problem: ConfigProblem, unreadable = false): SampleFile => ({
  samples: [],
  problems: [problem],
  unreadable,
})

const listNodes = (root: JsonNode, problems: SampleProblems): readonly SampleNode[] => {
  if (root.kind !== 'array') return [{ path: [], node: root, offset: root.start }]
  if (root.items.length === 0)
    problems.add([], root.start, { message: 'the list is empty', expected: 'at least one sample', found: 'a list' })
  return root.items.map((node, i) => ({ path: [i], node, offset: node.start }))
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

/** Null: the target matches none of the nine. */
const readTarget = (
  from: SampleNode,
  members: Members,
  { listen }: Config,
  problems: SampleProblems,
): { readonly operation: Operation; readonly query: string } | null => {
  const before = problems.list.length
  const line = readRequestLine(from, members, listen.basePath, problems)
  const given = members.get('query')
  const query = given === undefined ? '' : readQuery(given, problems)
  if (line !== null && given !== undefined && line.path.includes('?'))
    problems.add(given.path, given.offset, {
      message: 'the path has a query already',
      expected: 'one of the two',
      found: 'both',
    })
  if (line === null || problems.list.length > before) return null
  const { method, path, at } = line
  const simulated = simulateRequest(method, path + query, listen)
  if (simulated.admitted) return simulated
  const { kind } = simulated
  const { differs, hint } = explainRejection(simulated, method, path + query, listen, (key) => key)
  problems.addAt(at, {
    message: [`the gateway rejects it with ${failureTable[kind].status} ${kind}`, ...differs].join('; '),
    expected: 'a request for one of the nine',
    found: quote(`${method} ${path}${query}`),
    hint,
  })
  return null
}

interface RequestLine {
  readonly method: string
  readonly path: string
  readonly at: SampleNode
}

const readRequestLine = (
  from: SampleNode,
  members: Members,
  basePath: string,
  problems: SampleProblems,
): RequestLine | null => {
  const [operation, method, path] = targetKeys.map((key) => members.get(key))
  if (operation !== undefined) {
    const extra = method ?? path
    if (extra !== undefined)
      problems.add(extra.path, extra.offset, {
        message: 'the operation is named already',
        expected: 'operation, or method and path',
        found: 'both',
      })
    const id = readText(operation, 'the id of one of the nine', problems)
    const known = allOperations.find((each) => each.id === id)
    if (known !== undefined) return { method: known.method, path: basePath + known.path, at: operation }
    const ids = allOperations.map((each) => each.id)
    const meant = id === null ? undefined : suggestNearest(id, ids)
    if (id !== null)
      problems.addAt(operation, {
        message: meant === undefined ? 'unknown operation' : `unknown operation; did you mean "${meant}"?`,
        expected: `one of ${ids.join(', ')}`,
        found: quote(id),
      })
    return null
  }
  if (method === undefined || path === undefined) {
    const missing = method === undefined && path === undefined ? 'operation' : method === undefined ? 'method' : 'path'
    problems.addAt(from, {
      message: `${missing} is missing`,
      expected: 'operation, such as "market.insights", or method and path',
      found:
        method === undefined && path === undefined
          ? 'none of them'
          : `${missing === 'method' ? 'path' : 'method'} alone`,
    })
    return null
  }
  const texts = [readText(method, 'GET or POST', problems), readText(path, 'a path such as /market/insights', problems)]
  const [verb, target] = texts
  return verb == null || target == null ? null : { method: verb, path: target, at: path }
}

const readText = (from: SampleNode, expected: string, problems: SampleProblems): string | null => {
  const { node } = from
  if (node.kind === 'scalar' && typeof node.value === 'string') return node.value
  problems.addAt(from, wrongKind(expected, node))
  return null
}

const toResponse = (from: SampleNode, problems: SampleProblems): SampleResponse | null => {
  const members = problems.readMembers(from, responseKeys)
  if (members === null) return null
  const message = readMessage(members, problems)
  const status = members.get('status')
  if (status === undefined) {
    problems.addAt(from, { message: 'status is missing', expected: 'a status such as 200', found: 'nothing' })
    return null
  }
  const { node } = status
  if (node.kind === 'scalar' && Number.isInteger(node.value) && Number(node.value) >= 200 && Number(node.value) <= 999)
    return { status: Number(node.value), ...message }
  problems.addAt(status, wrongKind('the number of a final status, 200 to 999', node))
  return null
}

/** `body` is taken byte for byte, and is `application/json` unless a field says otherwise. */
const readMessage = (members: Members, problems: SampleProblems): SampleMessage => {
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

/** Text with or without `?`, or parameters by name. The result has its `?`, or is empty. */
const readQuery = (query: SampleNode, problems: SampleProblems): string => {
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

/** A comma stays: it separates the items of a list (OpenAPI 3.1 §4.8.12.3). */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed()).replaceAll('%2C', ',')

/** A number or a boolean keeps its spelling in the file. */
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
