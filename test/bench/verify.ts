/** Checks a peer before it is measured: a ratio with a peer that does something else says nothing. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { catalog } from '../../src/catalog.ts'
import { type Echo, echoMark } from './payloads.ts'
import type { Running } from './process.ts'
import type { Workload } from './workload.ts'

interface Answer {
  readonly status: number
  readonly body: string
  readonly type: string
}

/**
 * Lists what is wrong with a peer; empty when it serves the nine byte for byte, refuses what is not one of them, gives the measured
 * answers and writes one log line for each; none at all when it is to be quiet.
 */
export const verify = async (
  peer: Running,
  workloads: readonly Workload[],
  quiet = false,
): Promise<readonly string[]> => {
  const linesBefore = (await logLines(peer.logFile)).length
  // Bytes that are not JSON: a peer that parses the body and writes it anew is found out.
  const echoes = [
    ...catalog.map(({ method, path }) => ({
      method,
      path,
      body: method === 'POST' ? `{ "path" : "${path}", "n": 1.0 }\n` : '',
    })),
    ...workloads.filter(({ body }) => body !== '').map(({ operation, body }) => ({ ...operation, body })),
  ]
  const passedOn = await Promise.all(echoes.map(({ method, path, body }) => checkEcho(peer.port, method, path, body)))
  const others = await Promise.all([
    checkRefused(peer.port, 'GET', '/', 404),
    checkRefused(peer.port, 'GET', '/market/insights/', 404),
    checkRefused(peer.port, 'POST', '/market/insights', 404, 405),
    checkRefused(peer.port, 'GET', '/valuation/score', 404, 405),
  ])
  const measured = await Promise.all(workloads.map((workload) => checkAnswer(peer.port, workload)))
  const due = echoes.length + measured.length
  const log = quiet ? await checkQuiet(peer.logFile) : await checkLog(peer.logFile, linesBefore, due)
  return [...passedOn, ...others, ...measured, log].filter((problem) => problem !== null)
}

/** Reads the complete lines of a log. */
export const logLines = async (file: string): Promise<readonly string[]> =>
  (await readFile(file, 'latin1')).split('\n').slice(0, -1)

const checkEcho = async (port: number, method: string, path: string, body: string): Promise<string | null> => {
  const target = `${path}?${echoMark}&q=a%20b%2Fc&q=`
  const answer = await ask(port, method, target, body)
  const echo = parseEcho(answer.body)
  const sha256 = hash(body)
  const right = answer.status === 200 && echo?.method === method && echo.target === target && echo.sha256 === sha256
  return right ? null : `${method} ${target}: ${answer.status} ${answer.body.slice(0, 200)}`
}

const checkRefused = async (
  port: number,
  method: string,
  target: string,
  ...expected: readonly number[]
): Promise<string | null> => {
  const { status } = await ask(port, method, target, '')
  return expected.includes(status) ? null : `${method} ${target}: expected ${expected.join(' or ')}, got ${status}`
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

const checkAnswer = async (
  port: number,
  { operation, target, fields, body, answer: expected }: Workload,
): Promise<string | null> => {
  const { status, type, body: got } = await ask(port, operation.method, target, body, fields)
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
    if (lines.length >= expected && catalog.every(({ id }) => operations.has(id))) return null
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
    return catalog.find((each) => each.method === request.method && each.path === path)?.id ?? null
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

const ask = (
  port: number,
  method: string,
  path: string,
  body: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const length = body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: { ...length, ...fields }, agent: false, timeout: 5_000 },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: text, type: answer.headers['content-type'] ?? '' }),
        )
      },
    )
    sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within 5 s`)))
    sent.on('error', reject)
    sent.end(body)
  })
