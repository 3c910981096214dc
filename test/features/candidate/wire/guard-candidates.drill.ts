/** Which candidates the guard takes back, and how many requests of clients they cost meanwhile. */
import { afterAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { httpsUpstream } from '../../../helpers/https-upstream.ts'
import { program } from '../../../helpers/program.ts'
import { guardedSettings, openResponding, type Responding, respondings, runGuarded } from './guarded-candidates.ts'

const windowMs = 4000
const openssl = await program('openssl')
const nobody = 'http://127.0.0.1:9'

// A client of an upstream that never responds goes away at some time.
const paceOf = (name: string) => (name.includes('never') ? { patienceMs: 1500 } : {})

const table: string[] = []
afterAll(() => console.log(['candidate | taken back after | requests | failed | why', ...table].join('\n')))

/** Runs a gateway under load before a primary, and notes what became of its candidate. */
const run = async (
  name: string,
  candidate: object,
  windowMs: number,
  primary: Responding = respondings.well,
  pauseMs = 100,
) => {
  const settings = guardedSettings(await openResponding(primary), candidate, windowMs)
  const outcome = await runGuarded(settings, windowMs, { ...paceOf(name), pauseMs })
  const { takenBackAfterMs, requests, failed, reason } = outcome
  const after = takenBackAfterMs === null ? '–' : `${(takenBackAfterMs / 1000).toFixed(1)} s`
  table.push([name, after, requests, failed, reason ?? ''].join(' | '))
  return outcome
}

const openCandidates = async (...names: readonly (keyof typeof respondings)[]) => ({
  endpoints: await Promise.all(names.map((name) => openResponding(respondings[name]))),
})

describe('taken back within the window and a second is a candidate', () => {
  // It takes thirty requests of the candidate: a second or two, or as long as a slow machine needs for them.
  const windowMs = 20_000

  test.each<[string, () => object]>([
    ['that responds with 500', () => openCandidates('with 500')],
    ['that responds with 404, fast', () => openCandidates('with 404, fast')],
    // Many times what the primary takes under this load, on a slow machine too.
    ['that takes a second', () => openCandidates('after a second')],
    ['that never responds', () => openCandidates('never')],
    ['that resets', () => openCandidates('with a reset')],
    ['that breaks responds off', () => openCandidates('with half a body')],
    [
      'of whose two endpoints one resets',
      async () => ({ ...(await openCandidates('well', 'with a reset')), balance: 'round-robin', outlier: 'none' }),
    ],
    ['with a closed port', () => ({ endpoints: [nobody] })],
    ['with a closed port, without fallback', () => ({ endpoints: [nobody], fallback: false })],
  ])('%s', async (name, candidate) => {
    const { takenBackAfterMs } = await run(name, await candidate(), windowMs)

    expect(takenBackAfterMs).not.toBeNull()
    expect(takenBackAfterMs).toBeLessThan(windowMs + 1000 + 1500)
  })

  test.skipIf(openssl.missing)('whose certificate has expired', async () => {
    const { authority, expired } = makeCertificates(openssl.path ?? '')
    const { port } = await httpsUpstream(expired)
    const candidate = { endpoints: [`https://localhost:${port}`], tls: { ca: authority.cert } }
    const outcome = await run('whose certificate has expired', candidate, windowMs)

    expect(outcome).toMatchObject({ takenBackAfterMs: expect.any(Number), failed: 0 })
  })

  test('that fails 5 % of its requests', async () => {
    // It takes hundreds of requests, for as long as the machine needs for them.
    const outcome = await run('that fails 5 %', await openCandidates('with 5 % of 500s'), 600_000, respondings.well, 20)

    expect(outcome.takenBackAfterMs).not.toBeNull()
  }, 700_000)
})

describe('not taken back is a candidate', () => {
  test.each<[string, () => Promise<{ readonly endpoints: readonly string[] }>]>([
    ['that is well', () => openCandidates('well')],
    ['that responds with HTML', () => openCandidates('with HTML')],
    ['whose bodies drip', () => openCandidates('with a body that drips')],
    ['that responds with a megabyte', () => openCandidates('with a megabyte')],
    [
      'of whose two endpoints one is not there',
      async () => ({ endpoints: [...(await openCandidates('well')).endpoints, nobody] }),
    ],
  ])('%s', async (name, candidate) => {
    // A drip or a megabyte keeps its connection, so that heads wait for another: as long as the machine is busy.
    const guard = { minRequests: 30, window: `${windowMs}ms`, latency: '20x' }

    const settings = { ...(await candidate()), balance: 'round-robin', guard }
    const outcome = await run(name, settings, windowMs, respondings.well, 300)

    expect(outcome).toMatchObject({ takenBackAfterMs: null, failed: 0 })
  })

  test.each(['with 500', 'never', 'with half a body'] as const)(
    'that responds %s, as its primary does',
    async (way) => {
      const outcome = await run(`both ${way}`, await openCandidates(way), windowMs, respondings[way])

      expect(outcome.takenBackAfterMs).toBeNull()
    },
  )
})
