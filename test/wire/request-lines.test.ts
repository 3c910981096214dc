import { METHODS } from 'node:http'
import { expect, test } from 'vitest'
import { allOperations } from '../../src/operations.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { sendPipelined } from '../helpers/pipelined-client.ts'

const site = liveGatewayForAll()

/** Sends each request line on a connection of its own; returns its status. */
const statusesOf = async (lines: readonly string[]): Promise<ReadonlyMap<string, number>> => {
  const statuses = new Map<string, number>()
  const batches = lines.map((line) => [
    {
      bytes: `${line} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n`,
      method: line.slice(0, line.indexOf(' ')),
      onResponse: (response: { readonly status: number } | null) => statuses.set(line, response?.status ?? 0),
    },
  ])
  await sendPipelined(site.port, 24, batches)
  return statuses
}

// Each method that none of the nine has goes to one of them, in turn.
test('each of the nine is forwarded with its method, and with no other', async () => {
  const isTurn = (method: string, n: number, nth: number) => /^(GET|POST)$/.test(method) || n % 9 === nth
  const lines = allOperations.flatMap(({ path }, nth) =>
    METHODS.filter((method, n) => isTurn(method, n, nth)).map((method) => `${method} ${path}?a=%20b`),
  )
  const nine = allOperations.map(({ method, path }) => `${method} ${path}?a=%20b`)

  const statuses = await statusesOf(lines)

  expect(new Set(lines.map((line) => statuses.get(line)))).toEqual(new Set([200, 405]))
  expect(lines.filter((line) => statuses.get(line) === 200).toSorted()).toEqual(nine.toSorted())
  const arrived = site.server.requests.map(({ method, url }) => `${method} ${url}`)
  expect(arrived.toSorted()).toEqual(nine.toSorted())
})

// validate-request.test.ts has the rules; these tests find a second reading of any byte on the way.
test('a path with any byte added to it, or in place of one of its bytes, is another path', async () => {
  const { method, path } = allOperations[0]
  const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
  const places = bytes.map((byte, n) => [byte + path, path.replace('n/', `n${byte}/`), path + byte][n % 3] as string)
  const others = [...places, ...bytes.map((byte) => path.replace('s', byte))].filter(
    (each) => !/[ \r\n]/.test(each) && each !== path && each !== `${path}?`,
  )
  const before = site.server.begun()

  const statuses = await statusesOf(others.map((place) => `${method} ${place}`))

  expect(new Set(statuses.values())).toEqual(new Set([400, 404]))
  expect(statuses.size).toBeGreaterThan(500)
  expect(site.server.begun()).toBe(before)
})
