import { describe, expect, test } from 'vitest'
import { redactAddresses, truncateAddress } from '../../../src/features/bundle/bundle-files.ts'

describe('an address is cut to its network', () => {
  test.each([
    ['198.51.100.77', '198.51.100.0/24'],
    ['::ffff:198.51.100.77', '198.51.100.0/24'],
    ['198.51.100.64/26', '198.51.100.0/24'],
    ['198.51.0.0/16', '198.51.0.0/16'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:DB8::6', '2001:db8:0::/48'],
    ['2001:db8:1::', '2001:db8:1::/48'],
    ['::1', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
    ['2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:db8::/32', '2001:db8::/32'],
  ])('%s is %s', (address, network) => {
    expect(truncateAddress(address)).toBe(network)
  })

  test('text that is no address becomes ***', () => {
    const hidden = ['', 'lender.example', '198.51.100.777', '1.2.3.4.5'].map(truncateAddress)
    expect(hidden).toEqual(Array(4).fill('***'))
  })
})

test('addresses in a cause are cut, and URLs of upstreams stay', () => {
  const causes = [
    ['there is no credential: 3 rejected with 401, of 198.51.100.77', '… of 198.51.100.0/24'],
    ['… of 2 clients, the last one 2001:db8:1:2::7', '… the last one 2001:db8:1::/48'],
    ['198.51.100.77: asks too often (198.51.100.78)', '198.51.100.0/24: … (198.51.100.0/24)'],
    ['http://10.0.0.8:8080 refuses connections (ECONNREFUSED 10.0.0.8:8080)', 'http://10.0.0.8:8080 …10.0.0.8:8080)'],
  ] as const

  for (const [cause, expected] of causes) {
    const { findings } = redactAddresses({ findings: [{ cause }] }) as { findings: [{ cause: string }] }
    for (const part of expected.split('…')) expect(findings[0].cause).toContain(part.trim())
    expect(findings[0].cause).not.toMatch(/51\.100\.7|1:2::7/)
  }
})

test('addresses of rejected requests and of clients in the configuration are cut, and no others', () => {
  const response = {
    rejections: [{ client: '198.51.100.77', clientId: 'bank-a', status: 401 }],
    config: { clients: [{ addresses: ['198.51.100.77', '2001:db8:1:2::/64'] }], admin: { host: '10.0.0.7' } },
    reloads: [{ changes: [{ path: 'clients', from: [{ addresses: ['198.51.100.77'] }], to: [] }] }],
    upstreams: { risk: { endpoints: [{ url: 'http://10.0.0.8:8080' }] } },
    cleared: { client: 'bank-a' },
  }

  expect(redactAddresses(response)).toEqual({
    ...response,
    rejections: [{ client: '198.51.100.0/24', clientId: 'bank-a', status: 401 }],
    config: { clients: [{ addresses: ['198.51.100.0/24', '2001:db8:1::/48'] }], admin: { host: '10.0.0.7' } },
    reloads: [{ changes: [{ path: 'clients', from: [{ addresses: ['198.51.100.0/24'] }], to: [] }] }],
  })
})

test('addresses in a change or a problem of a client are cut', () => {
  const response = {
    changes: [
      { path: 'clients.bank-a.addresses', from: ['198.51.100.77'], to: ['198.51.100.78', '198.51.0.0/16'] },
      { path: 'clients.bank-b.rate', from: '1/s', to: '2/s' },
    ],
    problems: [
      { path: 'clients[0].addresses[0]', found: '"198.51.100.77/33"' },
      { path: '[1].addresses', found: '"198.51.100.77"', hint: 'write [198.51.100.77]' },
      { path: 'listen.port', found: '"x"' },
    ],
  }

  expect(redactAddresses(response)).toEqual({
    changes: [
      { path: 'clients.bank-a.addresses', from: ['198.51.100.0/24'], to: ['198.51.100.0/24', '198.51.0.0/16'] },
      response.changes[1],
    ],
    problems: [
      { path: 'clients[0].addresses[0]', found: '***' },
      { path: '[1].addresses', found: '***', hint: '***' },
      response.problems[2],
    ],
  })
})

test('the address of a client that breaks the contract is cut, and a client id stays', () => {
  const rows = [
    { client: '203.0.113.7', endpoint: 'http://203.0.113.9:8080' },
    { client: 'bank-a', endpoint: null },
  ]

  expect(redactAddresses({ rows })).toEqual({
    rows: [{ client: '203.0.113.0/24', endpoint: 'http://203.0.113.9:8080' }, rows[1]],
  })
})
