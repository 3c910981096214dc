import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { headOf, once, post } from '../wire/keyed-post.ts'

// The attack: a request with a key whose body does not come, so that the key is taken for as long as it may take.
const gateway = liveGatewayForAll(once)

test('a request does not take its key before its body is there', async () => {
  gateway.answerWith((_, response) => response.end('done'))
  const slow = await rawClient(gateway.port)

  slow.send(`${headOf('k', 3)}ab`)
  const quick = await post(gateway.port, 'k')
  slow.send('c')
  const late = await slow.until((text) => text.includes('done'))

  expect(quick).toBe('200 done')
  expect(late.toLowerCase()).toContain('idempotency-replayed: true')
  expect(gateway.received()).toHaveLength(1)
  slow.close()
})

test('a request over maxBody takes its key at once, since it streams: only its own client waits for it', async () => {
  gateway.answerWith((_, response) => response.end('done'))
  const slow = await rawClient(gateway.port)

  slow.send(headOf('long', 100_000))
  slow.send('a'.repeat(50_000))
  await expect.poll(() => gateway.begun()).toBe(1)
  const got = [await post(gateway.port, 'long'), await post(gateway.port, 'long', { fields: ['Authorization', 'b'] })]

  expect(got).toEqual(['409 request-in-progress', '200 done'])
  slow.close()
})
