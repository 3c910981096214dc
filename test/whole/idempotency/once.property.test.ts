/** No request is processed twice, whatever happens to clients, gateways, their store and the upstream. */
import { afterEach, beforeEach, test, vi } from 'vitest'
import { checkInterleavings } from './once-commands.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => vi.useRealTimers())

test('whatever happens, a key is processed at most once, and what was done is replayed byte for byte', async () => {
  await checkInterleavings(60)
})
