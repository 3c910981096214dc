import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

// The attack: a command comes while the gateway stops. It is put into effect on what is being taken down, or fails as
// if the gateway were broken, with a stack in the log; and a timer for it runs on.
test('an override while the gateway stops is rejected, and says why', async () => {
  let finish = (): void => {}
  const upstream = await httpUpstream((_, response) => {
    finish = () => void response.end()
  })
  const live = await bootLiveGateway({ upstream: upstream.url })
  const call = fetch(`${live.url}/market/insights`)
  await eventually(() => upstream.requests.length === 1)

  const closing = live.gateway.close()
  const body = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  const { status, body: told } = await fetchAdmin(`${live.admin}/operations/reject`, 'POST', { body })
  const { body: shown } = await fetchAdmin(`${live.admin}/status`)
  finish()

  expect(status).toBe(503)
  expect(told).toMatchObject({ code: 'stopping' })
  expect(shown).toMatchObject({ state: 'draining', operations: {} })
  expect((await call).status).toBe(200)
  await closing
  expect(live.lines.filter(({ level }) => Number(level) >= 50)).toEqual([])
})
