/** Which candidates the guard takes back, and how many requests of clients they cost meanwhile. */
import { afterAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { httpsUpstream } from '../../../helpers/https-upstream.ts'
import { program } from '../../../helpers/program.ts'
import { answerings, type GuardOutcome, guardedSettings, openAnswering, runGuarded } from './guarded-candidates.ts'

const windowMs = 4000
const openssl = await program('openssl')
const nobody = 'http://127.0.0.1:9'

// A client of an upstream that never answers goes away at some time.
const paceOf = (name: string) => (name.includes('never') ? { patienceMs: 1500 } : {})

const table: string[] = []
afterAll(() => console.log(['candidate | taken back after | requests | failed | why', ...table].join('\n')))

const note = (name: string, { takenBackAfterMs, requests, failed, reason }: GuardOutcome): void => {
  const after = takenBackAfterMs === null ? '–' : `${(takenBackAfterMs / 1000).toFixed(1)} s`
  table.push([name, after, requests, failed, reason ?? ''].join(' | '))
}

type Endpoints = () => Promise<object>

const answering =
  (name: keyof typeof answerings, more: object = {}): Endpoints =>
  async () => ({ endpoints: [await openAnswering(answerings[name])], ...more })

const seen: readonly (readonly [string, Endpoints])[] = [
  ['that answers with 500', answering('with 500')],
  ['that answers with 404, fast', answering('with 404, fast')],
  // Many times what the primary takes under this load, on a slow machine too.
  ['that takes a second', answering('after a second')],
  ['that never answers', answering('never')],
  ['that resets', answering('with a reset')],
  ['that breaks answers off', answering('with half a body')],
  [
    'of whose two endpoints one resets',
    async () => ({
      endpoints: [await openAnswering(answerings.well), await openAnswering(answerings['with a reset'])],
      balance: 'round-robin',
      outlier: 'none',
    }),
  ],
  ['where nobody listens', async () => ({ endpoints: [nobody] })],
  ['where nobody listens, without fallback', async () => ({ endpoints: [nobody], fallback: false })],
]

describe('taken back within the window and a second is a candidate', () => {
  // It takes thirty requests of the candidate: a second or two, or as long as a slow machine needs for them.
  const windowMs = 20_000

  test.each(seen)('%s', async (name, endpoints) => {
    const primary = await openAnswering(answerings.well)

    const outcome = await runGuarded(guardedSettings(primary, await endpoints(), windowMs), windowMs, paceOf(name))

    note(name, outcome)
    expect(outcome.takenBackAfterMs).not.toBeNull()
    expect(outcome.takenBackAfterMs).toBeLessThan(windowMs + 1000 + 1500)
  })

  test.skipIf(openssl.missing)('whose certificate has expired', async () => {
    const { authority, expired } = makeCertificates(openssl.path ?? '')
    const { port } = await httpsUpstream(expired)
    const candidate = { endpoints: [`https://localhost:${port}`], tls: { ca: authority.cert } }
    const primary = await openAnswering(answerings.well)

    const outcome = await runGuarded(guardedSettings(primary, candidate, windowMs), windowMs)

    note('whose certificate has expired', outcome)
    expect(outcome.takenBackAfterMs).not.toBeNull()
    expect(outcome.failed).toBe(0)
  })

  test('that fails 1 % of its requests', async () => {
    const primary = await openAnswering(answerings.well)
    const candidate = { endpoints: [await openAnswering(answerings['with 1 % of 500s'])] }

    // It takes thousands of requests, and so half a minute, or as long as the machine needs for them.
    const outcome = await runGuarded(guardedSettings(primary, candidate, 600_000), 600_000, { pauseMs: 0 })

    note('that fails 1 % of its requests', outcome)
    expect(outcome.takenBackAfterMs).not.toBeNull()
  }, 700_000)
})

const unseen: readonly (readonly [string, Endpoints])[] = [
  ['that is well', answering('well')],
  ['that answers with HTML', answering('with HTML')],
  ['whose bodies drip', answering('with a body that drips')],
  ['that answers with a megabyte', answering('with a megabyte')],
  [
    'of whose two endpoints one is not there',
    async () => ({ endpoints: [await openAnswering(answerings.well), nobody], balance: 'round-robin' }),
  ],
]

describe('not taken back is a candidate', () => {
  test.each(unseen)('%s', async (name, endpoints) => {
    const primary = await openAnswering(answerings.well)

    // A drip or a megabyte keeps its connection, so that heads wait for another: as long as the machine is busy.
    const guard = { minRequests: 30, window: `${windowMs}ms`, latency: '20x' }
    const outcome = await runGuarded(guardedSettings(primary, { ...(await endpoints()), guard }, windowMs), windowMs)

    note(name, outcome)
    expect(outcome).toMatchObject({ takenBackAfterMs: null, failed: 0 })
  })

  test.each(['with 500', 'never', 'with half a body'] as const)(
    'that answers %s, as its primary does',
    async (name) => {
      const primary = await openAnswering(answerings[name])
      const candidate = { endpoints: [await openAnswering(answerings[name])] }

      const outcome = await runGuarded(guardedSettings(primary, candidate, windowMs), windowMs, paceOf(name))

      note(`both ${name}`, outcome)
      expect(outcome.takenBackAfterMs).toBeNull()
    },
  )
})
