/** Checks a peer before it is measured: a ratio with a peer that does something else says nothing. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { allOperations, type Operation } from '../../src/operations.ts'
import { type Echo, echoMark } from './payloads.ts'
import type { Running } from './process.ts'
import { requestPeer } from './request-peer.ts'
import type { Fields, Workload } from './workload.ts'

/**
 * Lists what is wrong with a peer; empty when it serves the nine byte for byte, rejects what is not one of them, gives
 * the measured responses and writes one log line for each; none at all when it is to be quiet.
 */
export const verify = async (
  peer: Running,
  workloads: readonly Workload[],
  quiet = false,
  brings: (operation: Operation) => Fields = () => ({}),
): Promise<readonly string[]> => {
  const linesBefore = (await logLines(peer.logFile)).length
  // Bytes that are not JSON: a peer that parses the body and writes it anew is found out.
  const echoes = [
    ...allOperations.map((operation) => ({
      operation,
      body: operation.method === 'POST' ? `{ "path" : "${operation.path}", "n": 1.0 }\n` : '',
    })),
    ...workloads.filter(({ body }) => body !== ''),
  ]
  const fields = workloads[0]?.fields ?? {}
  const passedOn = await Promise.all(
    echoes.map(({ operation, body }) => checkEcho(peer, operation, body, { ...fields, ...brings(operation) })),
  )
  const others = await Promise.all([
    checkRejected(peer, 'GET', '/', 404),
    checkRejected(peer, 'GET', '/market/insights/', 404),
    checkRejected(peer, 'POST', '/market/insights', 404, 405),
    checkRejected(peer, 'GET', '/valuation/score', 404, 405),
  ])
  const measured = await Promise.all(
    workloads.map((each) => checkResponse(peer, { ...each, fields: { ...each.fields, ...brings(each.operation) } })),
  )
  const due = echoes.length + measured.length
  const log = quiet ? await checkQuiet(peer.logFile) : await checkLog(peer.logFile, linesBefore, due)
  return [...passedOn, ...others, ...measured, log].filter((problem) => problem !== null)
}

/** Reads the complete lines of a log. */
export const logLines = async (file: string): Promise<readonly string[]> =>
  (await readFile(file, 'latin1')).split('\n').slice(0, -1)

const checkEcho = async (
  peer: Running,
  { method, path }: Operation,
  body: string,
  fields: Fields,
): Promise<string | null> => {
  const target = `${path}?${echoMark}&q=a%20b%2Fc&q=`
  const response = await requestPeer(peer, method, target, body, fields)
  const echo = parseEcho(response.body)
  const sha256 = hash(body)
  const right = response.status === 200 && echo?.method === method && echo.target === target && echo.sha256 === sha256
  return right ? null : `${method} ${target}: ${response.status} ${response.body.slice(0, 200)}`
}

const checkRejected = async (
  peer: Running,
  method: string,
  target: string,
  ...expected: readonly number[]
): Promise<string | null> => {
  const { status } = await requestPeer(peer, method, target, '')
  return expected.includes(status) ? null : `${method} ${target}: expected ${expected.join(' or ')}, got ${status}`
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

const checkResponse = async (
  peer: Running,
  { operation, target, fields, body, response: expected }: Workload,
): Promise<string | null> => {
  const { status, type, body: got } = await requestPeer(peer, operation.method, target, body, fields)
  return status === 200 && type === 'application/json' && hash(got) === hash(expected)
    ? null
    : `${operation.method} ${target}: ${status} ${type}, ${got.length} bytes instead of ${expected.length}: ${got.slice(0, 200)}`
}

/** Waits up to 3 s for the lines of a log that is written in blocks, and looks whether the operation stands in each. */
const checkLog = async (file: string, before: number, expected: number): Promise<string | null> => {
  let lines: readonly string[] = []
  for (let tries = 0; tries < 30; tries++) {
    lines = (await logLines(file)).slice(before)
    const operations = new Set(lines.map((line) => operationOf(line)))
    if (lines.length >= expected && allOperations.every(({ id }) => operations.has(id))) return null
    await sleep(100)
  }
  return `access log: expected ${expected} lines that name the nine, got ${lines.length}: ${lines[0] ?? ''}`
}

/** Looks whether any line names an operation as it was served, after the time that a block of lines takes. */
const checkQuiet = async (file: string): Promise<string | null> => {
  await sleep(500)
  const line = (await logLines(file)).find((each) => each.includes('"msg":"exchange"'))
  return line === undefined ? null : `access log: expected none, got ${line}`
}

interface LogRecord {
  readonly operation?: string
  /** Caddy logs the method and the target instead, by which it is known as well. */
  readonly request?: { readonly method: string; readonly uri: string }
}

const operationOf = (line: string): string | null => {
  try {
    const { operation, request }: LogRecord = JSON.parse(line)
    if (request === undefined) return operation ?? null
    const path = request.uri.split('?')[0]
    return allOperations.find((each) => each.method === request.method && each.path === path)?.id ?? null
  } catch {
    return null
  }
}

const parseEcho = (text: string): Echo | null => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
