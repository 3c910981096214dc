/** A candidate that is worse than its primary is taken back by itself, beside everything else that acts on requests. */
import { expect, test } from 'vitest'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { askUntil, guardedSettings, openResponding, readShift, respondings, runGuarded } from './guarded-candidates.ts'

// It takes thirty requests of the candidate: a second or two, or as long as a slow machine needs for them.
const windowMs = 20_000

// Enough for a judgment each second, on any machine.
const pace = { pauseMs: 300 }

const isTakenBack = ({ lines }: LiveGateway): boolean => lines.some(({ msg }) => msg === 'shift taken back')

test('a candidate that responds with 500 is taken back, and stays so over a reload of another key and a rollback', async () => {
  const primary = await openResponding(respondings.well)
  const endpoints = [await openResponding(respondings['with 500'])]
  const settings = (share: string, more: object = {}) => ({
    ...guardedSettings(primary, { endpoints, share }, windowMs),
    ...more,
  })
  const live = await bootLiveGateway(settings('50%'))
  const reload = async (next: ReturnType<typeof settings>): Promise<unknown> => {
    live.edit(next)
    await fetchAdmin(`${live.admin}/reload`, 'POST')
    return readShift(live)
  }

  await askUntil(live, () => isTakenBack(live), pace)
  const until = performance.now() + 200
  const after = await askUntil(live, () => performance.now() > until, pace)

  expect(after).toMatchObject({ failed: 0 })
  const why = /^100 % of \d+ requests to market.insights failed within 20s, and 0 % of \d+ at the/
  const takenBack = { share: 0, cause: 'guard', stopped: true }
  expect(await readShift(live)).toMatchObject({ ...takenBack, reason: expect.stringMatching(why) })
  const [finding] = withoutLateness((await fetchAdmin(`${live.admin}/status`)).body.findings)
  const cause = expect.stringContaining('was taken back at')
  expect(finding).toMatchObject({ severity: 'warning', about: 'upstreams.market.candidate', cause })
  expect(await reload(settings('50%', { log: { level: 'warn' } }))).toMatchObject({ share: 0, cause: 'guard' })
  expect(await reload(settings('10%'))).toMatchObject({ share: 0.1, cause: 'file' })
  await fetchAdmin(`${live.admin}/rollback`, 'POST')
  expect(await readShift(live)).toMatchObject(takenBack)
})

test('a candidate that breaks an enforced contract is taken back, and clients get stored responses meanwhile', async () => {
  const get = { responses: { 200: { description: 'insights', content: { 'application/json': {} } } } }
  const { openapi, info } = sampleContract
  const file = contractFile({ openapi, info, paths: { '/market/insights': { get } } })
  const primary = await openResponding(respondings.well)
  let responded = 0
  const candidate = await openResponding((_, response) => {
    const type = responded++ < 60 ? 'application/json' : 'text/html'
    const fields = { 'Content-Type': type, 'Cache-Control': 'public, max-age=60, stale-if-error=600', Age: '61' }
    response.writeHead(200, fields).end('{"grade":"A"}')
  })
  const settings = guardedSettings(primary, { endpoints: [candidate] }, windowMs)
  const operations = { 'market.insights': { cache: true } }

  const outcome = await runGuarded({ ...settings, operations, contract: { file, response: 'enforce' } }, windowMs, pace)

  expect(outcome).toMatchObject({
    ...{ takenBackAfterMs: expect.any(Number), failed: 0 },
    reason: expect.stringContaining('requests to market.insights failed'),
  })
})
