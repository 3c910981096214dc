/** A candidate that is worse than its primary is taken back by itself. */
import { expect, test } from 'vitest'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../helpers/candidate.ts'
import type { Settings } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'

const banks = Array.from({ length: 12 }, (_, index) => `bank-${index}`)

const guard = { minRequests: 20, window: '5s' }

const settings = (primary: string, candidate: string, own: object = {}): Settings => ({
  ...withCandidate(primary, candidate, { share: '50%', guard, ...own }),
  ...keyedClients(...banks),
})

/** Asks as each of the banks, again and again, until a condition holds. Returns what they were told. */
const askUntil = async ({ gateway }: LiveGateway, isDone: () => boolean | Promise<boolean>): Promise<string[]> => {
  const answers: string[] = []
  while (!(await isDone()))
    answers.push(...(await Promise.all(banks.map((bank) => ask(gateway.address.port, { fields: keyOf(bank) })))))
  return answers
}

const isTakenBack = (live: LiveGateway) => (): boolean => live.lines.some(({ msg }) => msg === 'shift taken back')

const shiftOf = async (live: LiveGateway) => {
  const { body } = await fetchAdmin(`${live.admin}/status`)
  return (body as unknown as { upstreams: { market: { candidate: { shift: object } } } }).upstreams.market.candidate
    .shift
}

test('a candidate that answers with 500 is taken back, and all clients are on the primary then', async () => {
  const { primary, candidate } = await sideUpstreams((_, response, name) =>
    response.writeHead(name === 'candidate' ? 500 : 200).end(name),
  )
  const live = await bootLiveGateway(settings(primary.url, candidate.url))

  await askUntil(live, isTakenBack(live))
  const after = await Promise.all(banks.map((bank) => ask(live.gateway.address.port, { fields: keyOf(bank) })))

  expect(new Set(after)).toEqual(new Set(['200 primary']))
  expect(await shiftOf(live)).toMatchObject({
    share: 0,
    cause: 'guard',
    stopped: true,
    reason: expect.stringMatching(/^100 % of \d+ requests to market.insights failed within 5s, and 0 % of \d+ at the/),
  })
})
