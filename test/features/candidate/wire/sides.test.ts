/** Which side of its group a client is on. */
import { describe, expect, test } from 'vitest'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootGateway, openGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

const banks = Array.from({ length: 40 }, (_, index) => `bank-${index}`)

const sideOfBank = (bank: string, share: number): string =>
  clientBucket('market', { client: bank }) < bucketsOfShare(share) ? 'candidate' : 'primary'

/** Asks once as each of the banks. */
const askAll = (port: number): Promise<string[]> => Promise.all(banks.map((bank) => ask(port, { fields: keyOf(bank) })))

const expectedAt = (share: number): readonly string[] => banks.map((bank) => `200 ${sideOfBank(bank, share)}`)

test('by itself a candidate gets no request', async () => {
  const { primary, candidate } = await sideUpstreams()
  const { port } = await bootGateway(withCandidate(primary.url, candidate.url, {}))

  const answers = await Promise.all(banks.map(() => ask(port)))

  expect(new Set(answers)).toEqual(new Set(['200 primary']))
  expect(candidate.begun()).toBe(0)
})

test('a client is on the side of its bucket, at both of two gateways, and after a restart', async () => {
  const { primary, candidate } = await sideUpstreams()
  const settings = { ...withCandidate(primary.url, candidate.url, { share: '30%' }), ...keyedClients(...banks) }
  const [first, second] = [await openGateway(settings), await bootGateway(settings)]
  const answers = [await askAll(first.port), await askAll(second.port)]
  await first.gateway.close()
  const restarted = await bootGateway(settings)
  answers.push(await askAll(restarted.port))

  expect(answers).toEqual([expectedAt(0.3), expectedAt(0.3), expectedAt(0.3)])
  expect(new Set(answers.flat()).size).toBe(2)
})

test('a share that grows by reloads sends no client back, and an edit of the candidate moves none', async () => {
  const [{ primary, candidate }, other] = [await sideUpstreams(), await sideUpstreams()]
  const settings = (share: string, url = candidate.url): Settings => ({
    ...withCandidate(primary.url, url, { share }),
    ...keyedClients(...banks),
  })
  const live = await bootLiveGateway(settings('5%'))
  const { port } = live.gateway.address
  const reload = async (next: Settings): Promise<void> => {
    live.edit(next)
    expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)
  }

  for (const percent of [5, 20, 60, 100]) {
    await reload(settings(`${percent}%`))
    expect(await askAll(port)).toEqual(expectedAt(percent / 100))
  }
  await reload(settings('60%', other.candidate.url))
  expect(await askAll(port)).toEqual(expectedAt(0.6))
  await reload(settings('0%'))
  expect(new Set(await askAll(port))).toEqual(new Set(['200 primary']))
})

describe('a client', () => {
  const bootKeyed = async (): Promise<number> => {
    const { primary, candidate } = await sideUpstreams()
    const { port } = await bootGateway({
      ...withCandidate(primary.url, candidate.url, { clients: ['bank-a'] }),
      ...keyedClients('bank-a', 'bank-b'),
    })
    return port
  }

  const bootBehindProxy = async (): Promise<number> => {
    const { primary, candidate } = await sideUpstreams()
    const { port } = await bootGateway({
      ...withCandidate(primary.url, candidate.url, { share: '50%' }),
      listen: { trustedProxies: ['127.0.0.1'] },
    })
    return port
  }

  test('that is named goes to the candidate, and no other', async () => {
    const port = await bootKeyed()

    expect(await ask(port, { fields: keyOf('bank-a') })).toBe('200 candidate')
    expect(await ask(port, { fields: keyOf('bank-b') })).toBe('200 primary')
    expect(await ask(port)).toBe('401 unauthenticated')
  })

  test.each([
    ['a field', ['X-Upstream-Side', 'candidate', 'X-Lender-Candidate', 'always', 'X-Client-Id', 'bank-a']],
    ['a field that proxies set', ['X-Forwarded-For', '192.0.2.1', 'Forwarded', 'for=192.0.2.1']],
    ['a cookie', ['Cookie', 'side=candidate; X-Upstream-Side=candidate']],
  ])('cannot choose its side by %s', async (_, fields) => {
    const answer = await ask(await bootKeyed(), {
      target: '/market/insights?side=candidate',
      fields: [...fields, ...keyOf('bank-b')],
    })

    expect(answer).toBe('200 primary')
  })

  test('that is known by its address alone has the side of the address that a trusted proxy names', async () => {
    const port = await bootBehindProxy()
    const addresses = Array.from({ length: 30 }, (_, index) => `198.51.100.${index}`)

    const answers = await Promise.all(addresses.map((address) => ask(port, { fields: ['X-Forwarded-For', address] })))

    expect(answers).toEqual(
      addresses.map((address) => (clientBucket('market', { address }) < 5000 ? '200 candidate' : '200 primary')),
    )
    expect(new Set(answers).size).toBe(2)
  })

  test('has one side in all of its IPv6 network', async () => {
    const port = await bootBehindProxy()

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        ask(port, { fields: ['X-Forwarded-For', `2001:db8:7:8:${index}::${index}`] }),
      ),
    )

    expect(new Set(answers).size).toBe(1)
  })
})

test('an address that no trusted proxy names decides nothing', async () => {
  const { primary, candidate } = await sideUpstreams()
  const { port } = await bootGateway(withCandidate(primary.url, candidate.url, { share: '50%' }))
  const addresses = Array.from({ length: 30 }, (_, index) => `198.51.100.${index}`)

  const answers = await Promise.all(addresses.map((address) => ask(port, { fields: ['X-Forwarded-For', address] })))

  expect(new Set(answers).size).toBe(1)
})

test('another group is not touched, and has sides of its own', async () => {
  const { primary, candidate } = await sideUpstreams()
  const { upstreams } = withCandidate(primary.url, candidate.url, { share: '100%' })
  const { port } = await bootGateway({ upstream: primary.url, upstreams })

  expect(await ask(port)).toBe('200 candidate')
  expect(await ask(port, { target: '/leads/pipeline' })).toBe('200 primary')
})
