import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'

// The attack: a token has leaked and was replaced. Then an operator rolls back a bad reroute, and the leaked one opens
// the door again, while the one in the file, which every tool sends, is rejected.
test('a rollback does not restore a token that was replaced', async () => {
  const [leaked, fresh] = ['a-token-that-has-leaked', 'a-token-that-replaced-it']
  const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
  const live = await bootLiveGateway({ upstream: 'http://one.test', admin: { token: leaked } })
  live.edit({ upstream: 'http://two.test', admin: { token: fresh } })
  await fetchAdmin(`${live.admin}/reload`, 'POST', as(leaked))
  const { config } = (await fetchAdmin(`${live.admin}/status`, 'GET', as(fresh))).body
  const { hash, previous } = Object(config)

  const { body } = await fetchAdmin(`${live.admin}/rollback`, 'POST', as(fresh))
  const [old, current] = [
    await fetchAdmin(`${live.admin}/status`, 'GET', as(leaked)),
    await fetchAdmin(`${live.admin}/status`, 'GET', as(fresh)),
  ]

  expect(previous).toEqual(expect.any(String))
  expect([old.status, current.status]).toEqual([401, 200])
  expect(body).toMatchObject({ result: 'applied', from: hash, to: previous })
  expect(current.body).toMatchObject({ upstreams: { market: { endpoints: [{ url: 'http://one.test' }] } } })
})
