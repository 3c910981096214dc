import { expect, test } from 'vitest'
import { bannerRows, renderBanner } from '../../../../src/core/cli/commands/serve.ts'
import { testConfig } from '../../../helpers/gateway.ts'

const address = { address: '::1', port: 8080, family: 'IPv6' }

test.each([
  [1, 'lender-gateway listens on http://[::1]:8080'],
  [3, 'lender-gateway listens on http://[::1]:8080, 3 workers serve'],
])('the banner has the address and the number of workers: %i', (workers, first) => {
  const [line] = renderBanner(testConfig(), address, 'gateway.yaml', workers).split('\n')

  expect(line).toBe(first)
})

test('a candidate is named beside the endpoints of its group', () => {
  const config = testConfig({ upstreams: { market: { endpoints: ['http://a'], candidate: 'http://b' } } })

  expect(bannerRows(config).find(({ operation }) => operation === 'market.insights')).toMatchObject({
    upstream: 'http://a (candidate: http://b)',
  })
})
