import { expect, test } from 'vitest'
import { findRequestOwner, formatOwner } from '../../../../src/core/exchange/request-owner.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

test('the owner of a request is the client that was authenticated, wherever it comes from', () => {
  const exchange = fakeExchange({ client: '203.0.113.7' })
  exchange.identity = { client: 'bank-a', method: 'apiKey', keyId: null }

  expect(findRequestOwner(exchange)).toEqual({ client: 'bank-a' })
})

test('without a client it is the address: in IPv6 the network of so many bits', () => {
  const ofAddress = (client: string, ipv6Prefix?: number) => findRequestOwner(fakeExchange({ client }), ipv6Prefix)

  expect(ofAddress('203.0.113.7')).toEqual({ address: '203.0.113.7' })
  expect(ofAddress('2001:db8:0:1::7')).toEqual(ofAddress('2001:db8:0:1:ffff::9'))
  expect(ofAddress('2001:db8:0:1::7')).not.toEqual(ofAddress('2001:db8:0:2::7'))
  expect(ofAddress('2001:db8:0:1::7', 56)).toEqual(ofAddress('2001:db8:0:2::7', 56))
})

test('a client and an address of the same spelling are two owners', () => {
  expect(formatOwner({ client: '10.0.0.1' })).not.toBe(formatOwner({ address: '10.0.0.1' }))
})
