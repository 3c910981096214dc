import * as z from 'zod'
import { optionalPolicy } from '../../schema/inheritance.ts'
import { duration, integer, multiple } from '../../schema/scalar-types.ts'

/** The schema of the guard of a candidate: when it takes the candidate back by itself. Null: never. */
export const candidateGuardSchema = optionalPolicy(
  z
    .strictObject({
      errors: multiple('How many times the part of the requests that the primary fails', { min: 1, max: 100 }).prefault(
        '2x',
      ),
      latency: multiple('How many times the 95th percentile of the time until the head at the primary', {
        min: 1.1,
        max: 100,
      }).prefault('1.5x'),
      minRequests: integer('Fewest requests of the candidate to judge by', { min: 10, max: 1_000_000 }).prefault(50),
      window: duration('How long a request counts', { min: 1000, max: 600_000 }).prefault('1m'),
    })
    .meta({ description: 'When the candidate is taken back by itself' }),
  '{ errors: 2x, latency: 1.5x }',
)
