import * as z from 'zod'
import { operatorScopes } from '../../shared/operator-scopes.ts'
import { reject } from '../schema/collections.ts'
import { choice } from '../schema/scalar-types.ts'
import { claimNameSchema, jwtSchema } from './auth-tokens.ts'

// Groups and roles are named by people: `Gateway on call` and `/ops/gateway` are names too.
const claimValue = z
  .string()
  .check((context) => {
    const { value } = context
    if (/^[\x20-\x7e]{1,256}$/.test(value) && value.trim() === value && value !== '__proto__') return
    reject(context, 'not the value of a claim', '1 to 256 visible characters')
  })
  .meta({ minLength: 1, maxLength: 256 })

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

/** The schema of `admin.jwt`: the issuer of operators' tokens. It is checked as `auth.jwt` is. */
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
