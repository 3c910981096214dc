/** An endpoint whose clients leave before it responds: no request fails, and none succeeds. */
import { expect, test } from 'vitest'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

test('an endpoint that hangs is not well while its clients leave before it is given up', async () => {
  const upstream = await httpUpstream(() => {})
  const { url, admin } = await bootLiveGateway({ upstreams: { market: upstream.url } })
  const row = async (): Promise<string | undefined> => {
    const page = await (await fetch(admin, { headers: { accept: 'text/html' } })).text()
    return /<tr id="endpoint-market-0".*?<span class="mark (\w+)">.*?<\/span> ([^<]*)</s.exec(page)?.slice(1).join(' ')
  }
  const before = await row()

  for (let n = 1; n <= 3; n++) {
    const client = new AbortController()
    const given = fetch(`${url}/market/insights`, { signal: client.signal }).catch(() => {})
    await expect.poll(() => upstream.begun()).toBe(n)
    client.abort()
    await given
  }

  expect(before).toBe('off not tried')
  await expect.poll(row).toBe('warning no success')
})
