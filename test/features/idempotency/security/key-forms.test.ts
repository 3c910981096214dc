import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { once } from '../wire/keyed-post.ts'

// The attack: a key that gateway and upstream read differently, or a large key. Only a key that the gateway reads as
// one key is forwarded.
const site = liveGatewayForAll(once)

/** Sends a POST with some fields, and returns its status, its code and how many requests have reached the upstream. */
const postKeyFields = async (fields: string) => {
  const before = site.server.requests.length
  const head = `POST /valuation/score HTTP/1.1\r\nHost: a\r\n${fields}\r\nContent-Length: 3\r\n\r\n`
  const text = await exchangeRaw(site.port, `${head}abc`)
  const code = /"code":"([^"]+)"/.exec(text)?.[1] ?? null
  return [parseStatus(text), code, site.server.requests.length - before]
}

test.each([
  ['two fields', 'Idempotency-Key: f-1\r\nIdempotency-Key: f-2'],
  ['two fields with the same key', 'Idempotency-Key: f-1\r\nIdempotency-Key: f-1'],
  ['two fields of different case', 'Idempotency-Key: f-1\r\nIDEMPOTENCY-KEY: f-2'],
  ['an underscore in the name of its field', 'Idempotency_Key: f-1'],
  ['an underscore twin', 'Idempotency-Key: f-1\r\nIdempotency_Key: f-2'],
  ['no characters', 'Idempotency-Key:'],
  ['blanks alone', 'Idempotency-Key: \t '],
  ['an empty string', 'Idempotency-Key: ""'],
  ['a list', 'Idempotency-Key: f-1, f-2'],
  ['a list of strings', 'Idempotency-Key: "f-1", "f-2"'],
  ['a string without an end', 'Idempotency-Key: "f-1'],
  ['a string with more behind it', 'Idempotency-Key: "f-1"f-2'],
  ['an escape that there is not', 'Idempotency-Key: "f\\n1"'],
  ['a backslash', 'Idempotency-Key: f\\1'],
  ['a quotation mark within', 'Idempotency-Key: f"1'],
  ['a tab within', 'Idempotency-Key: f\t1'],
  ['a tab in a string', 'Idempotency-Key: "f\t1"'],
  ['a byte beyond ASCII', 'Idempotency-Key: f\xe91'],
  ['a byte beyond ASCII in a string', 'Idempotency-Key: "f\xe91"'],
  ['256 characters', `Idempotency-Key: ${'f'.repeat(256)}`],
  ['256 characters in a string', `Idempotency-Key: "${'f'.repeat(256)}"`],
  ['1,000 characters in a string', `Idempotency-Key: "${'f'.repeat(1000)}"`],
])('a key with %s is rejected, and does not reach the upstream', async (_, fields) => {
  expect(await postKeyFields(fields)).toEqual([400, 'idempotency-key-invalid', 0])
})

test.each([
  ['NUL', '\0'],
  ['a control character', '\x01'],
  ['DEL', '\x7f'],
  ['a bare carriage return', '\r'],
])('a key with %s is rejected', async (_, character) => {
  const [status, , forwarded] = await postKeyFields(`Idempotency-Key: f${character}1`)

  expect([status, forwarded]).toEqual([400, 0])
})

test.each([
  ['a string', 'f-3', '"f-3"'],
  ['a string with parameters', 'f-4', '"f-4"; a=1;b="c"'],
  ['blanks around it', 'f-5', '  f-5\t'],
  ['escapes', '"f\\"\\\\6"', '"f\\"\\\\6";a'],
  ['255 characters', 'f'.repeat(255), `"${'f'.repeat(255)}"`],
])('a key and the same key as %s are one', async (_, first, second) => {
  expect(await postKeyFields(`Idempotency-Key: ${first}`)).toEqual([200, null, 1])
  expect(await postKeyFields(`Idempotency-Key: ${second}`)).toEqual([200, null, 0])
})

test('a key that Connection names is no key: it ends at the gateway', async () => {
  expect(await postKeyFields('Idempotency-Key: f-7\r\nConnection: Idempotency-Key')).toEqual([200, null, 1])
  expect(await postKeyFields('Idempotency-Key: f-7\r\nConnection: Idempotency-Key')).toEqual([200, null, 1])
  expect(site.server.requests.at(-1)?.rawHeaders.map((each) => each.toLowerCase())).not.toContain('idempotency-key')
})

test('a key of 10 MB is rejected while it comes, and nothing is remembered of it', async () => {
  const client = await rawClient(site.port)
  let sent = 0
  const piece = 'k'.repeat(64 * 1024)

  client.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nIdempotency-Key: ')
  const pump = (): void => {
    if (client.socket.destroyed || sent >= 10 * 1024 ** 2) return
    sent += piece.length
    client.socket.write(piece, () => setImmediate(pump))
  }
  pump()
  const { received } = await client.ended()

  expect(parseStatus(received)).toBe(431)
  expect(await postKeyFields(`Idempotency-Key: ${'k'.repeat(255)}`)).toEqual([200, null, 1])
})
