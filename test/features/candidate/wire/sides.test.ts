/** Which side of its group a client is on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

test('a client is on the side of its bucket, over a reload of its share and of its candidate', async () => {
  const banks = Array.from({ length: 12 }, (_, index) => `bank-${index}`)
  const [{ primary, candidate }, other] = [await sideUpstreams(), await sideUpstreams()]
  const settings = (share: string, url: string) => ({
    ...withCandidate(primary.url, url, { share }),
    ...keyedClients(...banks),
  })
  const live = await bootLiveGateway(settings('30%', candidate.url))
  const askAll = () => Promise.all(banks.map((bank) => ask(live.gateway.address.port, { fields: keyOf(bank) })))
  const sidesAt = (share: number) =>
    banks.map(
      (bank) => `200 ${clientBucket('market', { client: bank }) < bucketsOfShare(share) ? 'candidate' : 'primary'}`,
    )

  const before = await askAll()
  live.edit(settings('60%', other.candidate.url))
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)

  expect([before, await askAll()]).toEqual([sidesAt(0.3), sidesAt(0.6)])
  expect([new Set(sidesAt(0.3)).size, new Set(sidesAt(0.6)).size]).toEqual([2, 2])
})

describe('a client', () => {
  let upstreams: readonly TestUpstream[]
  let keyed: TestGateway
  let behindProxy: TestGateway
  beforeAll(async () => {
    upstreams = await Promise.all(
      ['primary', 'candidate'].map((name) => openHttpUpstream((_, response) => void response.end(name))),
    )
    const [primary = '', candidate = ''] = upstreams.map(({ url }) => url)
    keyed = await openGateway({
      ...withCandidate(primary, candidate, { share: '0%', clients: ['bank-a'] }),
      ...keyedClients('bank-a', 'bank-b'),
    })
    behindProxy = await openGateway({
      ...withCandidate(primary, candidate, { share: '50%' }),
      listen: { trustedProxies: ['127.0.0.1'] },
    })
  })
  afterAll(() =>
    Promise.all([keyed.gateway.close(), behindProxy.gateway.close(), ...upstreams.map((each) => each.close())]),
  )

  test('that is named goes to the candidate, and no other', async () => {
    expect(await ask(keyed.port, { fields: keyOf('bank-a') })).toBe('200 candidate')
    expect(await ask(keyed.port, { fields: keyOf('bank-b') })).toBe('200 primary')
    expect(await ask(keyed.port)).toBe('401 unauthenticated')
    expect(await ask(keyed.port, { target: '/leads/pipeline', fields: keyOf('bank-a') })).toMatch(/^200 \{/)
  })

  test('cannot choose its side by a field, a field that proxies set, a cookie or its query', async () => {
    const fields = [
      ...['X-Upstream-Side', 'candidate', 'X-Lender-Candidate', 'always', 'X-Client-Id', 'bank-a'],
      ...['X-Forwarded-For', '192.0.2.1', 'Forwarded', 'for=192.0.2.1'],
      ...['Cookie', 'side=candidate; X-Upstream-Side=candidate', ...keyOf('bank-b')],
    ]

    expect(await ask(keyed.port, { target: '/market/insights?side=candidate', fields })).toBe('200 primary')
  })

  test('that is known by its address alone has the side of the address that a trusted proxy names', async () => {
    const addresses = Array.from({ length: 12 }, (_, index) => `198.51.100.${index}`)

    const answers = await Promise.all(
      addresses.map((address) => ask(behindProxy.port, { fields: ['X-Forwarded-For', address] })),
    )

    const isOver = (address: string) => clientBucket('market', { address }) < 5000
    expect(answers).toEqual(addresses.map((address) => `200 ${isOver(address) ? 'candidate' : 'primary'}`))
    expect(new Set(answers).size).toBe(2)
  })
})
