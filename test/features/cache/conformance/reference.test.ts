import fc from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { inDrills, testAndDrill } from '../../../helpers/speed.ts'
import { fakeTime } from './layer.ts'
import { playStory, story, type Tally } from './reference/sequences.ts'

beforeAll(fakeTime)
afterAll(() => void vi.useRealTimers())

testAndDrill(
  'whatever happens, a client is served nothing that a naive reading of RFC 9111 would not serve',
  async () => {
    const tally: Tally = { reused: 0 }

    await fc.assert(
      fc.asyncProperty(story, (acts) => playStory(acts, tally)),
      { numRuns: inDrills ? 1000 : 100 },
    )

    expect(tally.reused).toBeGreaterThan(20)
  },
)
