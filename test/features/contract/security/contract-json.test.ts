/** JSON that is made to hurt its reader, against a gateway that holds requests to a contract. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const node = { $ref: '#/components/schemas/Node' }

/** Says what an honest operator would, with each keyword that an attack aims at. */
const contract = {
  openapi: '3.1.0',
  info: { title: 'Attacked', version: '1.0.0' },
  paths: {
    '/valuation/score': {
      post: {
        parameters: Array.from({ length: 20 }, (_, i) => ({
          name: `p${i}`,
          in: 'query',
          schema: { type: 'integer' },
        })),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } },
        },
        responses: { 200: { description: 'ok' } },
      },
    },
  },
  components: {
    schemas: {
      Body: {
        type: 'object',
        additionalProperties: false,
        properties: {
          word: { type: 'string', pattern: '^(a+)+$' },
          amount: { type: 'number', maximum: 1000 },
          list: { type: 'array', items: { type: 'string' } },
          unique: { type: 'array', uniqueItems: true },
          tree: node,
        },
      },
      Node: {
        oneOf: ['and', 'or', 'not'].map((op) => ({
          type: 'object',
          required: ['op'],
          properties: { args: { type: 'array', items: node }, op: { const: op } },
        })),
      },
    },
  },
}

let gateway: TestGateway
let upstream: TestUpstream

const file = contractFile(contract, afterAll)

beforeAll(async () => {
  upstream = await openHttpUpstream()
  gateway = await openGateway({
    upstream: upstream.url,
    contract: { file, request: 'enforce', maxBody: '2MiB' },
  })
})
afterAll(async () => {
  await gateway.gateway.close()
  await upstream.close()
})

interface Reply {
  readonly status: number
  readonly text: string
  readonly errors: readonly { readonly pointer: string; readonly rule: string }[]
}

/** Sends a body; a character is a byte. */
const send = async (body: string, fields: readonly string[] = [], query = ''): Promise<Reply> => {
  const text = await exchangeRaw(
    gateway.port,
    [
      `POST /valuation/score${query} HTTP/1.1`,
      ...['Host: gateway', 'Connection: close', 'Content-Type: application/json', ...fields],
      `Content-Length: ${body.length}`,
      '',
      body,
    ].join('\r\n'),
  )
  const status = parseStatus(text)
  const errors = status < 400 ? [] : (JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).errors ?? [])
  return { status, text, errors }
}

const rules = ({ errors }: Reply): readonly string[] => errors.map(({ rule }) => rule)

describe('gets 400 and reaches no upstream:', () => {
  test.each<[string, string, readonly string[]]>([
    ['100,000 arrays in each other', '['.repeat(100_000) + ']'.repeat(100_000), ['depth']],
    ['100,000 objects in each other', '{"a":'.repeat(100_000), ['depth']],
    ['a number of a million digits', `{"amount":${'1'.repeat(1_000_000)}}`, ['type']],
    ['an exponent of a million digits', `{"amount":1e${'1'.repeat(1_000_000)}}`, ['type']],
    ['a key of 1 MiB', `{"${'k'.repeat(1024 ** 2)}":1}`, ['additionalProperties']],
    ['a member twice', '{"amount":1,"amount":2000}', ['duplicate-member']],
    ['a member twice, once escaped', '{"amount":1,"\\u0061mount":2000}', ['duplicate-member']],
    ['a member `__proto__`', '{"__proto__":{"polluted":1}}', ['additionalProperties']],
    ['a member `constructor`', '{"constructor":{"prototype":{}}}', ['additionalProperties']],
    ['1 MiB for a pattern that others backtrack in', `{"word":"${'a'.repeat(1024 ** 2)}!"}`, ['pattern']],
    ['100,000 wrong items', `{"list":[${'1,'.repeat(99_999)}1]}`, ['type']],
    ['3,000 wrong items in a small body', `{"list":[${'1,'.repeat(2999)}1]}`, Array.from({ length: 10 }, () => 'type')],
    [
      '100,000 objects that have to be unique, and of which the last two are not',
      `{"unique":[${Array.from({ length: 100_000 }, (_, i) => `{"a":${i}}`).join()},{"a":99999}]}`,
      ['uniqueItems'],
    ],
    ['bytes that are no UTF-8', '\xff', ['utf-8']],
    ['a byte order mark', '\xef\xbb\xbf{}', ['json']],
    ['two values', '{}{}', ['json']],
    ['nothing but blanks', ' '.repeat(1000), ['json']],
  ])('%s', async (_, body, expected) => {
    const before = upstream.begun()

    const reply = await send(body)

    expect([reply.status, rules(reply)]).toEqual([400, expected])
    expect(reply.text.length).toBeLessThan(6000)
    expect('polluted' in {}).toBe(false)
    expect(upstream.begun()).toBe(before)
  })
})

test('an unknown name is told to its sender alone, and a value to no reader', async () => {
  const reply = await send(`{"planted-name":"planted-value","tree":{"op":"and","args":[{"planted-name":1}]}}`)

  expect(reply.status).toBe(400)
  expect(reply.errors[0]?.pointer).toBe('/planted-name')
  expect(reply.text).not.toContain('planted-value')
  expect(JSON.stringify(gateway.lines)).not.toContain('planted')
})

test('8 KiB of parameters are read once', async () => {
  const [good, bad] = [
    await send('{}', [], `?${'q=1&'.repeat(2000)}p0=1`),
    await send('{}', [], `?${Array.from({ length: 20 }, (_, i) => `p${i}=x`).join('&')}`),
  ]

  expect(good.status).toBe(200)
  expect([bad.status, bad.errors.length]).toEqual([400, 10])
})

test('a body that says gzip is not read, and goes on as it came: said, and sent or not', async () => {
  const body = '{"amount":"no number"}'

  const reply = await send(body, ['Content-Encoding: gzip'])

  expect(reply.status).toBe(200)
  expect(upstream.requests.at(-1)?.body.toString()).toBe(body)
})

test('a body that stops in the middle is never forwarded', async () => {
  const before = upstream.begun()
  const text = await exchangeRaw(
    gateway.port,
    'POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '2\r\n{}\r\nzz\r\n',
  )

  expect([parseStatus(text), upstream.begun()]).toEqual([400, before])
})
