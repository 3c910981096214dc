import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

test('with several workers, one drops what another has made invalid, and all are purged', async () => {
  const target = '/market/insights?a=1'
  const upstream = await httpUpstream(({ method }, response) => {
    if (method === 'POST') response.writeHead(201, { Location: target })
    else response.setHeader('Cache-Control', 'max-age=60')
    response.end()
  })
  const { url, admin } = await bootLiveGateway({
    upstream: upstream.url,
    operations: { 'market.insights': { cache: true } },
    workers: 2,
  })
  // Each connection goes to the next worker, and fetch keeps its own open: so each asks by one of its own.
  const askAll = async (): Promise<void> => {
    for (let nth = 0; nth < 4; nth++) await (await fetch(url + target, { headers: { connection: 'close' } })).text()
  }
  await askAll()
  const stored = upstream.requests.length

  await (await fetch(`${url}/valuation/score`, { method: 'POST', body: '{}' })).text()
  await askAll()
  const again = upstream.requests.length
  const { body } = await fetchAdmin(`${admin}/cache`, 'DELETE')

  expect([stored, again, body.removed]).toEqual([2, 5, 2])
})
