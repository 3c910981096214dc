import { expect, test } from 'vitest'
import { boot } from '../../../features/cache/wire/stored.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'

test('with several workers, one drops what another has made invalid, and all are purged', async () => {
  const { get, post, admin, url, asked } = await boot({ workers: 2 })
  // Each connection goes to the next worker, and fetch keeps its own open: so each asks by one of its own.
  const fresh = async (): Promise<void> => {
    const response = await fetch(`${url}/market/insights?a=1`, { headers: { connection: 'close' } })
    await response.text()
  }
  for (let nth = 0; nth < 4; nth++) await fresh()
  const stored = asked()

  await post('/market/insights?a=1')
  for (let nth = 0; nth < 4; nth++) await fresh()
  const again = asked()
  const { body } = await fetchAdmin(`${admin}/cache`, 'DELETE')

  expect(stored).toBe(2)
  expect(again).toBe(5)
  expect(body.removed).toBe(2)
  await get('/market/insights?a=1')
})
