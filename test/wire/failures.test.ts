import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failureTable } from '../../src/core/exchange/failures/failure-table.ts'
import { bugMessage, openBrokenGateway } from '../helpers/broken-gateway.ts'
import { openGateway, type TestGateway } from '../helpers/gateway.ts'
import {
  type Backstage,
  type ClientOutcome,
  openBackstage,
  provokedElsewhere,
  provokedFailures,
  type Stage,
} from './failure-table.ts'

let backstage: Backstage
let sound: TestGateway
let broken: TestGateway
let stage: Stage

beforeAll(async () => {
  backstage = await openBackstage('1s')
  sound = await openGateway(backstage.settings)
  broken = await openGateway(backstage.settings, openBrokenGateway)
  stage = { port: sound.port, brokenPort: broken.port, upstream: backstage.upstream }
})
afterAll(async () => {
  await Promise.all([sound.gateway.close(), broken.gateway.close()])
  await backstage.close()
})

// The registry's phrases (RFC 9110 §15, RFC 6585, RFC 5842), written out: Node's own table keeps older names.
const phrases: Readonly<Record<number, string>> = {
  ...{ 400: 'Bad Request', 404: 'Not Found', 405: 'Method Not Allowed', 408: 'Request Timeout' },
  ...{ 413: 'Content Too Large', 414: 'URI Too Long', 417: 'Expectation Failed', 421: 'Misdirected Request' },
  ...{ 431: 'Request Header Fields Too Large', 500: 'Internal Server Error', 501: 'Not Implemented' },
  ...{ 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout' },
  ...{ 505: 'HTTP Version Not Supported', 508: 'Loop Detected' },
}

const rows = provokedFailures.map((row) => [`${row.kind}: ${row.provoked}`, row] as const)

describe('every failure has the shape that the table of failures gives it', () => {
  test.concurrent.each(rows)('%s', async (name, row) => {
    const ownId = `row-${name.replaceAll(/[^a-z0-9]+/gi, '-')}`

    const outcome = await row.provoke(stage, ownId)

    const { status, fields, body } = parse(outcome.received)
    const id = fields.get('x-request-id') ?? ownId
    const line = await lineOf(id)
    if (row.status === 'silence') expect(outcome).toEqual({ received: '', how: 'left' })
    else if (row.status === 'cut') expect({ status, how: outcome.how }).toEqual({ status: 200, how: 'reset' })
    else {
      expect(status).toBe(row.status)
      expect(fields.get('content-type')).toBe('application/problem+json')
      expect(fields.get('cache-control')).toBe('no-store')
      expect(Object.fromEntries(fields)).toMatchObject(row.fields ?? {})
      for (const name of Object.keys(row.fields ?? {})) fields.delete(name)
      for (const name of everyResponse) fields.delete(name)
      expect([...fields.keys()]).toEqual([])
      const title = phrases[row.status]
      const problem = { type: 'about:blank', title, status: row.status, code: row.kind, requestId: id }
      if (row.body === false) expect(body).toBe('')
      else expect(JSON.parse(body)).toStrictEqual(problem)
    }
    const { fault, status: tabled } = failureTable[row.kind]
    if (typeof row.status === 'number') expect(row.status).toBe(tabled)
    expect(line).toMatchObject({ status: loggedStatus(row.status), failure: row.kind, fault })
    if (row.cause === undefined) expect(line).not.toHaveProperty('cause')
    else expect(line.cause).toMatch(row.cause)
    expect(leaks(outcome, id, line.cause)).toEqual([])
  })
})

// What any response of the gateway's own may have.
const everyResponse = [
  ...['content-type', 'content-length', 'cache-control', 'date', 'connection', 'keep-alive', 'x-request-id'],
]

const loggedStatus = (told: number | 'cut' | 'silence'): number =>
  told === 'cut' ? 200 : told === 'silence' ? 499 : told

const lineOf = (id: string): Promise<TestGateway['lines'][number]> =>
  Promise.race([sound, broken].map((gateway) => gateway.line(({ requestId }) => requestId === id)))

const parse = (text: string): { status: number; fields: Map<string, string>; body: string } => {
  const end = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, Math.max(end, 0)).split('\r\n')
  const fields = lines.map((line) => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { status: Number(statusLine.split(' ')[1] ?? 0), fields: new Map(fields), body: text.slice(end + 4) }
}

const leakPatterns: readonly RegExp[] = [
  /\d+\.\d+\.\d+\.\d+|\[?::1|localhost/, // addresses
  /\bat .*:\d+|\.[jt]s\b|\/src\/|node_modules|node:/, // stacks and file names
  /E[A-Z]{4,}|HPE_|UND_ERR|ERR_|SSL|Error:|Parse |undici|fastify|socket|closed|planted/, // what libraries say
]

/** Lists the parts of a response that only the log may have. */
const leaks = ({ received }: Pick<ClientOutcome, 'received'>, id: string, cause: unknown): string[] => {
  // Random hexadecimal digits may spell a port.
  const text = received.replaceAll(id, '').replace(/^Date: .*$/m, '')
  const words = [...backstage.ports, stage.port, stage.brokenPort].map((port) => new RegExp(`\\b${port}\\b`))
  const found = [...leakPatterns, ...words].flatMap((telltale) => telltale.exec(text) ?? [])
  return typeof cause === 'string' && text.includes(cause) ? [...found, cause] : found
}

test('the check for leaks can fail', () => {
  const telltales = ['connect 192.0.2.7', `connect host:${backstage.upstream.port}`, 'in send.ts', bugMessage]

  for (const text of [...telltales, 'connect ECONNREFUSED', 'an unheard-of cause'])
    expect(leaks({ received: text }, 'some-id', 'an unheard-of cause')).not.toEqual([])
})

test('every kind of failure is provoked, here or elsewhere', () => {
  const provoked = new Set(provokedFailures.map(({ kind }) => kind))

  expect([...provoked, ...provokedElsewhere].sort()).toEqual(Object.keys(failureTable).sort())
})
