import * as z from 'zod'
import { type Algorithm, algorithms } from '../../shared/jwks/algorithms.ts'
import { orOff } from './levels.ts'
import { choice, duration } from './values.ts'

/** Describes whether tokens have to be bound to whoever sends them. */
export const bound = choice(
  'required: a token that is bound neither to a certificate nor to a key is refused. What one is bound to is always asked for',
  ['none', 'required'],
)

/** Describes the proofs that whoever sends a token holds its key. */
export const dpop = orOff(
  z
    .strictObject({
      algorithms: z
        .array(choice<Algorithm>('An algorithm', algorithms))
        .min(1)
        .meta({ description: 'What proofs may be signed with' })
        .prefault(['ES256', 'PS256', 'EdDSA', 'Ed25519']),
      maxAge: duration('How old a proof may be: for so long, and for the tolerance, each is remembered', {
        min: 1000,
        max: 300_000,
      }).prefault('60s'),
      clockTolerance: duration('How far the clocks of clients may be from that of the gateway', {
        min: 0,
        max: 60_000,
      }).prefault('5s'),
      withoutRedis: choice(
        'While Redis cannot say whether a proof came to another gateway before: refuse it with 503, or serve it if it is new here. Default: refuse',
        ['refuse', 'serve'],
      ).optional(),
    })
    .meta({ description: 'Proofs of possession (DPoP, RFC 9449); needs listen.publicUrl' }),
  '{ maxAge: 60s }',
)
