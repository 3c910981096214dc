import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { program } from '../../../test/helpers/program.ts'
import type { Turn } from '../load.ts'
import { requestTexts } from '../request-text.ts'
import { get, type Workload } from '../workload.ts'
import { freshDpopProofs, freshJwts, freshOpaqueTokens, withCredentials } from './credentials.ts'
import { readLayerList } from './layer-list.ts'
import { renderLevelConfig } from './level-config.ts'
import { writePairs, writeSecrets } from './level-peer.ts'
import { chooseLevels, levels, toLevelId } from './levels.ts'

const openssl = await program('openssl')

const listOf = async (level: (typeof levels)[number]): Promise<readonly string[]> => {
  const directory = mkdtempSync(join(tmpdir(), 'level-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeSecrets(directory)
  if (level.tls) await writePairs(directory)
  const file = join(directory, 'gateway.yaml')
  writeFileSync(
    file,
    renderLevelConfig(level, {
      port: 1,
      upstreamPort: 2,
      directory,
      introspection: 'http://127.0.0.1:3/introspect',
      receiver: 'http://127.0.0.1:4/v1/traces',
      redis: 'redis://127.0.0.1:5',
    }),
  )
  return readLayerList(file)
}

// What they turn on is no layer.
const beside = ['no access log', 'request id', 'candidate']

test.skipIf(openssl.missing !== null).each(levels)(
  '$name has a file that is good, and in its list what it says',
  async (level) => {
    // An older tree, which is measured with the same file, has no key that turns the layer off.
    const list = (await listOf(level)).filter((name) => name !== 'get-content')

    if (level.over === null || beside.includes(level.name)) expect(list).toEqual([])
    else if (level.name.startsWith('auth')) expect(list[0]).toBe('auth')
    else if (level.name.startsWith('tracing')) expect(list).toEqual(['tracing'])
    else expect(list).not.toEqual([])
  },
)

test('a level that is named comes with what it is compared with, and with nothing else', () => {
  expect(chooseLevels(['auth-by-DPoP', 'retry']).map(toLevelId)).toEqual([
    'nothing',
    'retry',
    'nothing-beside-a-proof',
    'auth-by-DPoP',
  ])
  expect(chooseLevels(null)).toBe(levels)
  expect(() => chooseLevels(['gateway'])).toThrow('unknown levels: gateway')
})

/** Gives the requests that a load is to send in a turn of a second. */
const sent = async (bring: typeof freshDpopProofs): Promise<readonly string[]> => {
  const asked: Workload[] = []
  const load = {
    name: 'none',
    run: async (_: unknown, workload: Workload): Promise<Turn> => {
      asked.push(workload)
      return { served: 0, failed: 0, seconds: 1, p50Ms: 0, p99Ms: 0 }
    },
  }
  await withCredentials(load, bring(null), 100).run({ port: 1, speaks: 'http' }, get, 1, 1)
  return asked.flatMap((workload) => requestTexts(1, workload))
}

test.each([
  ['opaque tokens', freshOpaqueTokens, 'Authorization'],
  ['tokens', freshJwts, 'Authorization'],
  ['proofs', freshDpopProofs, 'DPoP'],
])('%s that are to be fresh are in no two requests the same', async (_, bring, field) => {
  const found = (await sent(bring)).map((text) => new RegExp(`^${field}: (.+)$`, 'm').exec(text)?.[1])

  expect(found).not.toContain(undefined)
  expect(new Set(found).size).toBe(100)
})
