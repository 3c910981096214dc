import { afterAll, describe } from 'vitest'
import { socketsBench } from './benches/sockets.ts'
import { conform } from './conform.ts'

const bench = socketsBench()
afterAll(() => bench.close())

describe('the gateway keeps what is required of a shared cache', () => {
  conform(bench)
})
