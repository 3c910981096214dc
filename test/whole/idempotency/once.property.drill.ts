/** A thousand random interleavings: nothing is done twice. */
import { afterEach, beforeEach, test, vi } from 'vitest'
import { checkInterleavings } from './once-commands.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => vi.useRealTimers())

test('in 1,000 runs, a key is processed at most once, and what was done is replayed byte for byte', async () => {
  await checkInterleavings(1000)
}, 300_000)
