import { expect, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues } from '../helpers/raw-response.ts'
import { receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: a gateway that is led back to itself answers one request with as many as it has connections.
const get = (fields: string): string => `GET /market/insights HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

test.each([
  'Via: 1.1 edge-1\r\n',
  'via: 1.0 edge-1\r\n',
  'Via: HTTP/1.1 edge-1 (a comment)\r\n',
  'Via: 1.1 other, 2 edge-1, 1.1 another\r\n',
  'Via: 1.1 other\r\nVia: 1.1 edge-1\r\n',
  'Via: 1.1 edge-1\r\nConnection: Via\r\n',
])('our own name in %j is a loop', async (fields) => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, listen: { via: 'edge-1' } })

  const { response, arrived } = await roundTrip(port, upstream, get(fields))

  expect(findProblemFault(response, 508)).toBeNull()
  expect(arrived).toEqual([])
})

test('another gateway’s name is none, and ours is added behind it', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, listen: { via: 'edge-1' } })

  const { response, arrived } = await roundTrip(port, upstream, get('Via: 1.1 edge-10 (edge-1)\r\n'))

  expect(response.status).toBe(200)
  expect(receivedValues(arrived[0], 'via')).toEqual(['1.1 edge-10 (edge-1)', '1.1 edge-1'])
  expect(headerValues(response, 'via')).toEqual(['1.1 edge-1'])
})

test('a request that is led back by way of a second gateway ends there, once', async () => {
  const port = await freePort()
  const second = await bootGateway({ upstream: `http://127.0.0.1:${port}` })
  const first = await bootGateway({ upstream: second.url, listen: { port } })

  const text = await exchangeRaw(first.port, get(''))

  expect(parseStatus(text)).toBe(508)
  await second.line(({ status }) => status === 508)
  expect(second.lines.filter(({ operation }) => operation !== undefined)).toHaveLength(1)
})
