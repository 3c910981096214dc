import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { runInProcess } from '../../golden/golden.ts'
import { configText } from '../../helpers/gateway.ts'

const explain = async (market: object | string): Promise<string> => {
  const folder = folderWith({ 'gateway.yaml': configText({ upstreams: { market } }) })
  return (await runInProcess('explain', 'GET', '/market/insights', '--config', join(folder, 'gateway.yaml'))).out
}

const up = 'one that is less loaded gets up to twice it, one that fails no more than it'

test.each([
  ['p2c', `a weight is a share of the traffic; ${up}`, 'weight 10, 9.1%, at most 18.2%'],
  ['least-requests', `a weight is a share of the traffic; ${up}`, 'weight 10, 9.1%, at most 18.2%'],
  ['round-robin', 'a weight is a share of the traffic, whatever the load', 'weight 10, 9.1%  '],
])('explain describes a weight under %s', async (balance, means, share) => {
  const out = await explain({ balance, endpoints: ['http://a.test', { url: 'http://b.test', weight: 10 }] })

  expect(out).toContain(`endpoints: ${means}\n`)
  expect(out).toContain(share)
})

test('explain does not mention weights where there is one endpoint', async () => {
  const out = await explain('http://a.test')

  expect(out).toContain('\nendpoints\n  http://a.test/market/insights  weight 100, 100%')
})
