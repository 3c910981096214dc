import { expect, test } from 'vitest'
import { renderBanner } from '../../../src/cli/commands/serve.ts'
import { testConfig } from '../../helpers/gateway.ts'

const address = { address: '::1', port: 8080, family: 'IPv6' }

test.each([
  [1, 'lender-gateway listens on http://[::1]:8080'],
  [3, 'lender-gateway listens on http://[::1]:8080, 3 workers serve'],
])('the banner has the address and the number of workers: %i', (workers, first) => {
  const [line] = renderBanner(testConfig(), address, 'gateway.yaml', workers).split('\n')

  expect(line).toBe(first)
})
