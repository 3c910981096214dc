import { expect, test } from 'vitest'
import { parse, sandbox } from '../../../../core/config/helper.ts'

const warned = (listen: string) => {
  const result = parse(`${sandbox}\nlisten: ${listen}`)
  return result.ok ? result.warnings.map(({ path }) => path) : result.problems
}

test('listen.forwarded without trusted proxies is warned of: no Forwarded is read', () => {
  expect(warned('{ forwarded: rfc7239 }')).toEqual(['listen.forwarded'])
  expect(warned('{ forwarded: both, trustedProxies: [10.0.0.1] }')).toEqual([])
  expect(warned('{ forwarded: x-forwarded }')).toEqual([])
})

test('a load balancer that is also in trustedProxies is warned of', () => {
  const from = 'proxyProtocol: { from: [192.0.2.1, 10.0.0.0/28, "fd00::1"] }'

  expect(warned(`{ ${from}, trustedProxies: [10.0.0.0/8] }`)).toEqual(['listen.proxyProtocol.from[1]'])
  expect(warned(`{ ${from}, trustedProxies: [192.0.2.2, "fd00::/8"] }`)).toEqual(['listen.proxyProtocol.from[2]'])
  expect(warned(`{ ${from}, trustedProxies: [10.0.0.5] }`)).toEqual(['listen.proxyProtocol.from[1]'])
  expect(warned(`{ ${from}, trustedProxies: [10.0.0.16, "::ffff:192.0.2.1"] }`)).toEqual([
    'listen.proxyProtocol.from[0]',
  ])
  expect(warned(`{ ${from} }`)).toEqual([])
})
