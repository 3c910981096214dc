/** Which side of its group a client is on. */
import { expect, test } from 'vitest'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket } from '../../../../src/features/candidate/layers/side.ts'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'

test('a client is on the side of its bucket, over a reload of its share and of its candidate', async () => {
  const banks = Array.from({ length: 12 }, (_, index) => `bank-${index}`)
  const [{ primary, candidate }, other] = [await sideUpstreams(), await sideUpstreams()]
  const settings = (share: string, url: string) => ({
    ...withCandidate(primary.url, url, { share }),
    ...keyedClients(...banks),
  })
  const live = await bootLiveGateway(settings('30%', candidate.url))
  const askAll = () => Promise.all(banks.map((bank) => ask(live.gateway.address.port, { fields: keyOf(bank) })))
  const isThere = (client: string, share: number) => clientBucket('market', { client }) < bucketsOfShare(share)
  const sidesAt = (share: number) => banks.map((bank) => `200 ${isThere(bank, share) ? 'candidate' : 'primary'}`)

  const before = await askAll()
  live.edit(settings('60%', other.candidate.url))
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)

  expect([before, await askAll()]).toEqual([sidesAt(0.3), sidesAt(0.6)])
  expect([new Set(sidesAt(0.3)).size, new Set(sidesAt(0.6)).size]).toEqual([2, 2])
})

test('a client that is named goes to the candidate, and no other, whatever it sends', async () => {
  const { primary, candidate } = await sideUpstreams()
  const { port } = await bootGateway({
    ...withCandidate(primary.url, candidate.url, { share: '0%', clients: ['bank-a'] }),
    ...keyedClients('bank-a', 'bank-b'),
  })
  const choosing = [
    ...['X-Upstream-Side', 'candidate', 'X-Lender-Candidate', 'always', 'X-Client-Id', 'bank-a'],
    ...['X-Forwarded-For', '192.0.2.1', 'Forwarded', 'for=192.0.2.1'],
    ...['Cookie', 'side=candidate; X-Upstream-Side=candidate', ...keyOf('bank-b')],
  ]

  expect(await ask(port, { fields: keyOf('bank-a') })).toBe('200 candidate')
  expect(await ask(port, { fields: keyOf('bank-b') })).toBe('200 primary')
  expect(await ask(port, { target: '/market/insights?side=candidate', fields: choosing })).toBe('200 primary')
  expect(await ask(port)).toBe('401 unauthenticated')
  expect(await ask(port, { target: '/leads/pipeline', fields: keyOf('bank-a') })).toMatch(/^200 \{/)
})
