import * as z from 'zod'
import type { AdminConfig } from '../../../core/config/config.ts'
import type { OperatorKey } from '../../../core/config/config-part.ts'
import { optionalKey } from '../../../core/config/schema/annotations.ts'
import { keySchema, reject } from '../../../core/config/schema/collections.ts'
import { InvalidScalar, textParser } from '../../../core/config/schema/scalar.ts'
import { choice } from '../../../core/config/schema/scalar-types.ts'
import { operatorScopes } from '../../../core/lib/operators.ts'
import { claimNameSchema, jwtSchema } from '../config-tokens.ts'

// Groups and roles are named by people: `Gateway on call` and `/ops/gateway` are names too.
const claimValue = keySchema({
  expected: '1 to 256 visible characters',
  parse: textParser((value) =>
    /^[\x20-\x7e]{1,256}$/.test(value) && value.trim() === value && value !== '__proto__'
      ? value
      : new InvalidScalar('not the value of a claim'),
  ),
}).meta({ minLength: 1, maxLength: 256 })

const maxScopes = 100

const scopes = z
  .record(
    claimValue,
    choice(
      'What it opens: metrics is /metrics and /whoami, read all that is shown, operate orders too',
      operatorScopes,
    ),
  )
  .check((context) => {
    const count = Object.keys(context.value).length
    const hint = 'write { VALUE: read }'
    if (count === 0) reject(context, 'nothing opens anything', 'at least one entry', hint)
    if (count > maxScopes) reject(context, 'too many entries', `at most ${maxScopes}`, hint)
  })
  .meta({
    minProperties: 1,
    maxProperties: maxScopes,
    description:
      'What each value of scopeClaim opens. A token with none of them opens nothing; of several the most counts',
  })

/** The issuer of operators' tokens. It is checked as `auth.jwt` is. */
export const operatorJwtSchema = z
  .strictObject({
    ...jwtSchema.shape,
    nameClaim: claimNameSchema(
      'The claim that names its operator. One that operators cannot change themselves',
    ).prefault('sub'),
    scopeClaim: claimNameSchema('The claim that says what it opens, as scopes has it').prefault('scope'),
    scopes,
  })
  .meta({ description: 'Tokens of operators that an issuer makes: signed JWTs' })

declare module '../../../core/config/config.ts' {
  interface ParsedAdmin {
    readonly jwt: z.output<typeof operatorJwtSchema> | null
  }
}

export type OperatorJwtConfig = NonNullable<AdminConfig['jwt']>

export const operatorKeys: readonly OperatorKey[] = [
  {
    key: 'jwt',
    after: 'tokens',
    schema: optionalKey(operatorJwtSchema),
    scopes: ({ jwt }) =>
      Object.entries(jwt?.scopes ?? {}).map(([value, scope]) => ({ path: ['admin', 'jwt', 'scopes', value], scope })),
  },
]
