import { expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'

const settings = { reload: { watch: false, preflight: 'connect' } }

const reload = ({ admin }: LiveGateway, query = '') => fetchAdmin(`${admin}/reload${query}`, 'POST')

test('an edit that leads nowhere with its candidate is rejected at its key, though its primary is there', async () => {
  const live = await bootLiveGateway(settings)
  const candidate = `http://127.0.0.1:${await freePort()}`
  live.edit({ ...settings, upstreams: { market: { endpoints: ['sandbox'], candidate } } })

  const { status, body } = await reload(live)
  const forced = await reload(live, '?force=true')

  expect(status).toBe(422)
  expect(body.problems).toMatchObject([
    {
      path: 'upstreams.market.candidate.endpoints',
      message: 'no endpoint of the candidate of market that the edit brings can be reached',
    },
  ])
  expect(forced.status).toBe(200)
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
})

test('an edit that leaves a candidate as it is takes effect, though the candidate is down', async () => {
  const candidate = `http://127.0.0.1:${await freePort()}`
  const market = (balance: string) => ({ endpoints: ['sandbox'], candidate, balance })
  const live = await bootLiveGateway({ ...settings, upstreams: { market: market('p2c') } })
  live.edit({ ...settings, upstreams: { market: market('round-robin') } })

  expect((await reload(live)).status).toBe(200)
})
