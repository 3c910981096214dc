import { expect, test } from 'vitest'
import { refuse } from '../../src/layers/refuse.ts'
import { fakeExchange } from '../helpers/exchange.ts'

test('every exchange is refused, and told when to come again', async () => {
  await expect(refuse(fakeExchange())).rejects.toMatchObject({
    kind: 'refused-by-operator',
    status: 503,
    fields: ['Retry-After', '60'],
  })
})
