/** Which side of its group a client is on. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

test('a client is on the side of its bucket, over reloads of its share and of its candidate', async () => {
  const banks = Array.from({ length: 12 }, (_, index) => `bank-${index}`)
  const [{ primary, candidate }, other] = [await sideUpstreams(), await sideUpstreams()]
  const settings = (share: string, url: string) => ({
    ...withCandidate(primary.url, url, { share }),
    ...keyedClients(...banks),
  })
  const live = await bootLiveGateway(settings('0%', candidate.url))

  for (const [percent, { url }] of [
    [30, candidate],
    [60, candidate],
    [60, other.candidate],
  ] as const) {
    live.edit(settings(`${percent}%`, url))
    expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)
    const answers = await Promise.all(banks.map((bank) => ask(live.gateway.address.port, { fields: keyOf(bank) })))

    const isOver = (bank: string) => clientBucket('market', { client: bank }) < bucketsOfShare(percent / 100)
    expect(answers).toEqual(banks.map((bank) => `200 ${isOver(bank) ? 'candidate' : 'primary'}`))
    expect(new Set(answers).size).toBe(2)
  }
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

  const askFrom = (addresses: readonly string[]) =>
    Promise.all(addresses.map((address) => ask(behindProxy.port, { fields: ['X-Forwarded-For', address] })))

  test('that is named goes to the candidate, and no other', async () => {
    expect(await ask(keyed.port, { fields: keyOf('bank-a') })).toBe('200 candidate')
    expect(await ask(keyed.port, { fields: keyOf('bank-b') })).toBe('200 primary')
    expect(await ask(keyed.port)).toBe('401 unauthenticated')
    expect(await ask(keyed.port, { target: '/leads/pipeline', fields: keyOf('bank-a') })).toMatch(/^200 \{/)
  })

  test.each([
    ['a field', ['X-Upstream-Side', 'candidate', 'X-Lender-Candidate', 'always', 'X-Client-Id', 'bank-a']],
    ['a field that proxies set', ['X-Forwarded-For', '192.0.2.1', 'Forwarded', 'for=192.0.2.1']],
    ['a cookie', ['Cookie', 'side=candidate; X-Upstream-Side=candidate']],
  ])('cannot choose its side by %s', async (_, fields) => {
    const request = { target: '/market/insights?side=candidate', fields: [...fields, ...keyOf('bank-b')] }

    expect(await ask(keyed.port, request)).toBe('200 primary')
  })

  test('that is known by its address alone has the side of the address that a trusted proxy names', async () => {
    const addresses = Array.from({ length: 12 }, (_, index) => `198.51.100.${index}`)

    const answers = await askFrom(addresses)

    const isOver = (address: string) => clientBucket('market', { address }) < 5000
    expect(answers).toEqual(addresses.map((address) => `200 ${isOver(address) ? 'candidate' : 'primary'}`))
    expect(new Set(answers).size).toBe(2)
  })

  test('has one side in all of its IPv6 network', async () => {
    const answers = await askFrom(Array.from({ length: 10 }, (_, index) => `2001:db8:7:8:${index}::${index}`))

    expect(new Set(answers).size).toBe(1)
  })
})
