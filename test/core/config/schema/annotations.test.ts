import { expect, test } from 'vitest'
import * as z from 'zod'
import { annotate, getAnnotations, renderValue } from '../../../../src/core/config/schema/annotations.ts'

test('a secret with a new description stays a secret', () => {
  const secret = annotate(z.string(), { secret: true, file: 'line' })

  const copy = secret.meta({ description: 'What operators send' }).describe('What Prometheus sends')

  expect(getAnnotations(copy)).toEqual({ secret: true, file: 'line' })
  expect(JSON.stringify(renderValue(copy, 'hunter2'))).toBe('"***"')
})
