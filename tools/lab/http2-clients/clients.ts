/** Clients of HTTP/2, each of another make, that ask what they are told. */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { Agent, request } from 'undici'
import { chromiumProgram } from '../../../test/helpers/chromium.ts'
import { startHaproxy } from '../../../test/helpers/haproxy.ts'
import { openHttp2Session, requestHttp2 } from '../../../test/helpers/http2.ts'
import { debianFile, needProgram, type Program, requireFound } from '../../../test/helpers/program.ts'
import { sha256 } from '../../../test/helpers/wire.ts'
import { buildGo, pythonModule, pythonPath } from '../uploads/clients.ts'

/** What a client is to ask. Java and Go keep their connections from task to task. */
export interface Task {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly count: number
  readonly atOnce: number
  /** The file with the body of each request; null: none. */
  readonly file: string | null
}

/**
 * Asks, and returns of each request a status and the SHA-256 of the response's body, or how many bytes it has where the
 * client keeps none; or what failed.
 */
export type Ask = (task: Task) => Promise<readonly string[]>

export interface Client {
  readonly name: string
  /** What it needs. */
  readonly programs: readonly Program[]
  /** Starts it. `onEnd` takes what is to be done when it is asked no more. */
  start(onEnd: OnEnd): Ask | Promise<Ask>
}

type OnEnd = (end: () => void) => void

/** Tells whether a client got a 200 with one of these bodies. */
export const got =
  (...bodies: readonly (string | Buffer)[]) =>
  (outcome: string): boolean =>
    bodies.some((body) => [`200 ${sha256(Buffer.from(body))}`, `200 ${body.length}`].includes(outcome))

const run = promisify(execFile)

/** Runs a program, and returns what it prints: bytes as latin1, and what it says of failures behind them. */
const print = async (program: string, ...args: readonly string[]): Promise<string> => {
  const options = { encoding: 'latin1', maxBuffer: 16 * 1024 * 1024 } as const
  const { stdout, stderr } = await run(program, args, options).catch((error) => error)
  return `${stdout}${stderr}`
}

const curl: Ask = async ({ method, url, count, atOnce, file }) => {
  const into = mkdtempSync(join(tmpdir(), 'clients-'))
  const body = file === null ? [] : ['--data-binary', `@${file}`, '-H', 'Expect:']
  const each = ['-sSk', '-X', method, ...body, '-w', '%{http_code} %{filename_effective}\\n', url]
  const all = Array.from({ length: count }, (_, n) => ['--next', ...each, '-o', join(into, String(n))]).flat()
  // Over HTTP/2, the others wait for the connection of the first.
  const atOnceArgs = [url.startsWith('https:') ? '--parallel' : '--parallel-immediate', '--parallel-max', `${atOnce}`]
  const printed = await print('curl', '--parallel', ...atOnceArgs, '--no-progress-meter', ...all.slice(1))
  const lines = printed.trim().split('\n')
  const outcomes = lines.map((line) => line.replace(/\/.*/, (path) => sha256(readFileSync(path))))
  rmSync(into, { recursive: true })
  return outcomes
}

const nghttp: Ask = async ({ url, count, file }) => {
  const body = file === null ? [] : ['-d', file]
  const printed = await print('nghttp', '-ys', '-m', `${count}`, ...body, url)
  const [received = '', statistics = ''] = printed.split('***** Statistics *****')
  const whole = sha256(Buffer.from(received, 'latin1'))
  const statuses = [...statistics.matchAll(/ ([1-5]\d\d) +\w+ \//g)]
  // Statistics have only the bytes as `19K`.
  const outcomes = statuses.map(([, status]) => `${status} ${count === 1 ? whole : received.length / count}`)
  return outcomes.length === count ? outcomes : [printed]
}

const h2load: Ask = async ({ url, count, atOnce, file }) => {
  const body = file === null ? [] : ['-d', file]
  const printed = await print('h2load', '-n', `${count}`, '-c', '1', '-m', `${atOnce}`, ...body, url)
  const bytes = Number(/\((\d+)\) data/.exec(printed)?.[1]) / count
  const outcomes = [...printed.matchAll(/(\d+) ([2-5])xx/g)].flatMap(([, times, digit]) =>
    Array<string>(Number(times)).fill(`${{ 2: 200, 4: 404 }[digit ?? ''] ?? printed} ${bytes}`),
  )
  return outcomes.length === count ? outcomes : [printed]
}

/** Starts a program that reads tasks and prints a line for each. */
const driven =
  (command: string, ...args: readonly string[]) =>
  (onEnd: OnEnd): Ask => {
    const child = spawn(command, args, { cwd: import.meta.dirname, stdio: ['pipe', 'pipe', 'inherit'] })
    onEnd(() => void child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    return async ({ method, url, count, atOnce, file }) => {
      child.stdin.write(`${method} ${url} ${count} ${atOnce} ${file ?? '-'}\n`)
      return ((await lines.next()).value ?? 'the client has ended').split('\t')
    }
  }

/** Asks `count` times, `atOnce` at once. */
const pooled = async ({ count, atOnce }: Task, one: () => Promise<string>): Promise<readonly string[]> => {
  const outcomes: string[] = []
  let begun = 0
  const work = async (): Promise<void> => {
    while (begun++ < count) outcomes.push(await one().catch((error) => `${error} ${error.cause ?? ''}`))
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return outcomes
}

const undici: Ask = async (task) => {
  const dispatcher = new Agent({ allowH2: true, connections: 1, connect: { rejectUnauthorized: false } })
  const body = task.file === null ? null : readFileSync(task.file)
  const outcomes = await pooled(task, async () => {
    const response = await request(task.url, { dispatcher, method: task.method, body })
    return `${response.statusCode} ${sha256(Buffer.from(await response.body.bytes()))}`
  })
  await dispatcher.destroy()
  return outcomes
}

const nodeHttp2: Ask = async (task) => {
  const { port, pathname, search } = new URL(task.url)
  const session = openHttp2Session(Number(port))
  const body = task.file === null ? undefined : readFileSync(task.file)
  const outcomes = await pooled(task, async () => {
    const response = await requestHttp2(session, { ':method': task.method, ':path': pathname + search }, body)
    return response.code === 0 ? `${response.status} ${response.sha256}` : `reset ${response.code}`
  })
  session.destroy()
  return outcomes
}

/** Asks HAProxy with curl, over HTTP/1.1. */
const haproxy: Ask = async (task) => {
  const { port } = new URL(task.url)
  const server = `server it 127.0.0.1:${port} ssl verify none alpn h2`
  const proxy = await startHaproxy(needed.haproxy.path ?? '', `backend gateway\n  http-reuse always\n  ${server}`)
  const url = task.url.replace('https:', 'http:').replace(port, String(proxy.port))
  return curl({ ...task, url }).finally(proxy.stop)
}

const chromium = (openPage: (options: object) => Promise<Page>) => (): Ask => async (task) => {
  const page = await openPage({ ignoreHTTPSErrors: true })
  await page.goto(new URL('/unknown', task.url).href)
  await page.setContent('<input type=file>')
  const input = page.locator('input')
  if (task.file !== null) await input.setInputFiles(task.file)
  return pooled(task, () => input.evaluate(fetchFile, task))
}

/** Runs in the page. */
const fetchFile = async ({ files }: { readonly files?: readonly Blob[] }, { method, url }: Task): Promise<string> => {
  const response = await fetch(url, { method, body: files?.[0] ?? null })
  const hash = await crypto.subtle.digest('SHA-256', await response.arrayBuffer())
  const hex = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0'))
  return `${response.status} ${hex.join('')}`
}

const need = async (found: Promise<Program>): Promise<Program> => requireFound(await found)

const needed = {
  chromium: chromiumProgram,
  curl: await needProgram('curl'),
  go: await needProgram('go'),
  h2: await need(pythonModule('h2')),
  h2load: await needProgram('h2load'),
  haproxy: await needProgram('haproxy'),
  http_2: await need(debianFile('/usr/share/doc/ruby-http-2', 'ruby-http-2')),
  httpx: await need(pythonModule('httpx')),
  java: await needProgram('java'),
  javac: await needProgram('javac'),
  nghttp: await needProgram('nghttp'),
  python: await need(debianFile(pythonPath, 'python3')),
  ruby: await needProgram('ruby'),
}

const client = (name: string, needs: readonly (keyof typeof needed)[], start: Client['start']): Client => ({
  name,
  programs: needs.map((each) => needed[each]),
  start,
})

// Java starts quickly, and trusts the certificate.
const javaOptions = [
  ...['-Xshare:auto', '-XX:TieredStopAtLevel=1'],
  '-Djdk.internal.httpclient.disableHostnameVerification',
]
const startGo = async (onEnd: OnEnd): Promise<Ask> => {
  const folder = mkdtempSync(join(tmpdir(), 'clients-'))
  onEnd(() => rmSync(folder, { recursive: true }))
  return driven(await buildGo(join(import.meta.dirname, 'client.go'), folder))(onEnd)
}

/** Lists them. nginx is none: Debian's speaks HTTP/1 to servers. */
export const http2Clients = (openPage: (options: object) => Promise<Page>): readonly Client[] => [
  client('curl', ['curl'], () => curl),
  client('nghttp', ['nghttp'], () => nghttp),
  client('h2load', ['h2load'], () => h2load),
  client('python-h2', ['python', 'h2'], driven(pythonPath, 'client.py', 'h2')),
  client('httpx', ['python', 'h2', 'httpx'], driven(pythonPath, 'client.py', 'httpx')),
  client('Java', ['java', 'javac'], driven('java', ...javaOptions, 'Client.java')),
  client('Go', ['go'], startGo),
  client('undici', [], () => undici),
  client('Node', [], () => nodeHttp2),
  client('Ruby', ['ruby', 'http_2'], driven('ruby', 'client.rb')),
  client('Chromium', ['chromium'], chromium(openPage)),
  client('HAProxy', ['haproxy', 'curl'], () => haproxy),
]
