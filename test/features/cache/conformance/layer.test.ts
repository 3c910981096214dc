import { afterAll, describe } from 'vitest'
import { layerBench } from './benches/layer.ts'
import { conform } from './conform.ts'

const bench = layerBench()
afterAll(() => bench.close())

describe('the layer keeps what is required of a shared cache', () => {
  conform(bench)
})
