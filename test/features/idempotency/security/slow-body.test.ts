import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

// The attack: a request with a key whose body does not come, so that the key is taken for as long as it may take.
const operations = { 'valuation.score': { idempotency: true } }
const head = (key: string, length: number): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: ${length}\r\n\r\n`

test('a request does not take its key before its body is there', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const { port } = await bootGateway({ upstream: upstream.url, operations })
  const slow = await rawClient(port)

  slow.send(`${head('k', 3)}ab`)
  const quick = await call(port, {
    method: 'POST',
    target: '/valuation/score',
    fields: ['Idempotency-Key', 'k'],
    body: Buffer.from('abc'),
  })
  slow.send('c')
  const late = await slow.until((text) => text.includes('done'))

  expect(quick.status).toBe(200)
  expect(late.toLowerCase()).toContain('idempotency-replayed: true')
  expect(upstream.requests).toHaveLength(1)
  slow.close()
})

test('a request over maxBody takes its key at once, since it streams: only its own client waits for it', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const { port } = await bootGateway({ upstream: upstream.url, operations })
  const slow = await rawClient(port)
  const send = (fields: readonly string[]) =>
    call(port, {
      method: 'POST',
      target: '/valuation/score',
      fields: ['Idempotency-Key', 'k', ...fields],
      body: Buffer.from('abc'),
    })

  slow.send(head('k', 100_000))
  slow.send('a'.repeat(50_000))
  await expect.poll(async () => upstream.begun()).toBe(1)
  const [own, another] = [await send([]), await send(['Authorization', 'Bearer b'])]

  expect([own.status, another.status]).toEqual([409, 200])
  slow.close()
})
