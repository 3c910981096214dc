import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, fieldValues, type WireResponse } from '../../../helpers/wire.ts'

/**
 * Opens an upstream that answers only unconditional requests, with responses that are stale already, and a gateway that
 * has stored some.
 */
const boot = async (fields: readonly string[]) => {
  const held: ServerResponse[] = []
  const upstream = await httpUpstream(({ rawHeaders, url }, response) => {
    if (rawHeaders.includes('If-None-Match')) return void held.push(response)
    response.writeHead(200, ['ETag', '"a"', ...fields])
    response.end(url)
  })
  const booted = await bootGateway({ upstream: upstream.url, operations: { 'market.insights': { cache: true } } })
  for (const target of targets) await call(booted.port, { target })
  return { ...booted, upstream, held }
}

const targets = Array.from({ length: 10 }, (_, nth) => `/market/insights?${nth}`)

const askAll = (port: number): Promise<readonly WireResponse[]> =>
  Promise.all(targets.flatMap((target) => [0, 1, 2, 3].map(() => call(port, { target }))))

const said = (responses: readonly WireResponse[]): readonly string[] =>
  responses.map(({ status, body }) => `${status} ${body}`)

test('an upstream that is killed during a request fails no client, neither those that wait nor those that come after', async () => {
  const { port, upstream, held, lines } = await boot(['Cache-Control', 'max-age=60', 'Age', '61'])
  const waiting = askAll(port)
  await eventually(() => held.length === targets.length)

  await upstream.close()
  const responses = [await waiting, await askAll(port), await askAll(port)]

  for (const each of responses) expect(said(each)).toEqual(targets.flatMap((target) => Array(4).fill(`200 ${target}`)))
  for (const { fields } of responses.flat()) expect(fieldValues(fields, 'cache-status').join()).toMatch(/;ttl=-\d+$/)
  expect(lines.filter(({ failure }) => failure !== undefined)).toEqual([])
})

test.each([
  ['it says must-revalidate', ['Cache-Control', 'max-age=60, must-revalidate', 'Age', '61']],
  ['it says no-cache', ['Cache-Control', 'no-cache']],
  ['it has been stale for longer than staleWhenDisconnected', ['Cache-Control', 'max-age=60', 'Age', '121']],
])('nothing is served in place of an upstream that is gone when %s', async (_, fields) => {
  const { port, upstream, held } = await boot(fields)
  const waiting = askAll(port)
  await eventually(() => held.length >= targets.length)

  await upstream.close()
  const responses = [...(await waiting), ...(await askAll(port))]

  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([502]))
})
