import { expect, test } from 'vitest'
import * as z from 'zod'
import { factsOf, mark, written } from '../../src/config/schema/facts.ts'

test('a secret that is described anew is a secret as before', () => {
  const secret = mark(z.string(), { secret: true, file: 'line' })

  const copy = secret.meta({ description: 'What operators send' }).describe('What Prometheus sends')

  expect(factsOf(copy)).toEqual({ secret: true, file: 'line' })
  expect(JSON.stringify(written(copy, 'hunter2'))).toBe('"***"')
})
