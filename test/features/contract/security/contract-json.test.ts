/** JSON that is made to hurt its reader, against a gateway that holds requests to a contract. */
import { afterAll, expect, test } from 'vitest'
import { contractFile } from '../../../helpers/contract.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { scoring } from '../compile/loading.ts'

/** Says what an honest operator would, with each keyword that an attack aims at. */
const contract = scoring({
  type: 'object',
  additionalProperties: false,
  properties: {
    word: { type: 'string', pattern: '^(a+)+$' },
    amount: { type: 'number', maximum: 1000 },
    list: { type: 'array', items: { type: 'string' } },
    unique: { type: 'array', uniqueItems: true },
  },
})

const shared = liveGatewayForAll({
  contract: { file: contractFile(contract, afterAll), request: 'enforce', maxBody: '2MiB' },
})

const head = 'POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n'

/** Sends a body; a character is a byte. */
const send = (body: string): Promise<string> =>
  exchangeRaw(shared.port, `${head}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)

test.each<[string, string, readonly string[]]>([
  ['100,000 arrays in each other', '['.repeat(100_000) + ']'.repeat(100_000), ['depth']],
  ['100,000 objects in each other', '{"a":'.repeat(100_000), ['depth']],
  ['a number of a million digits', `{"amount":${'1'.repeat(1_000_000)}}`, ['type']],
  ['an exponent of a million digits', `{"amount":1e${'1'.repeat(1_000_000)}}`, ['type']],
  ['a key of 1 MiB', `{"${'k'.repeat(1024 ** 2)}":1}`, ['additionalProperties']],
  ['a member twice, once escaped', '{"amount":1,"\\u0061mount":2000}', ['duplicate-member']],
  ['a member `__proto__`', '{"__proto__":{"polluted":1}}', ['additionalProperties']],
  ['1 MiB for a pattern that others backtrack in', `{"word":"${'a'.repeat(1024 ** 2)}!"}`, ['pattern']],
  ['100,000 wrong items', `{"list":[${'1,'.repeat(99_999)}1]}`, ['type']],
  ['3,000 wrong items in a small body', `{"list":[${'1,'.repeat(2999)}1]}`, Array(10).fill('type')],
  [
    '100,000 objects that have to be unique, and of which the last two are not',
    `{"unique":[${Array.from({ length: 100_000 }, (_, i) => `{"a":${i}}`).join()},{"a":99999}]}`,
    ['uniqueItems'],
  ],
])('gets 400 and reaches no upstream: %s', async (_, body, expected) => {
  const text = await send(body)

  const errors: readonly { readonly rule: string }[] = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)).errors
  expect([parseStatus(text), errors.map(({ rule }) => rule)]).toEqual([400, expected])
  expect(text.length).toBeLessThan(6000)
  expect([shared.begun(), 'polluted' in {}]).toEqual([0, false])
})

test('a body that breaks its framing in the middle is never forwarded', async () => {
  const text = await exchangeRaw(shared.port, `${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n`)

  expect([parseStatus(text), shared.begun()]).toEqual([400, 0])
})
