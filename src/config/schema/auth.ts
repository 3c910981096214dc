import * as z from 'zod'
import { mtls } from './auth-mtls.ts'
import { bound, dpop } from './dpop.ts'
import { fieldName, optionalFieldName } from './fields.ts'
import { orOff } from './levels.ts'
import { claims, introspection, jwt, scope } from './tokens.ts'
import { choice } from './values.ts'

const methodNames = ['apiKey', 'jwt', 'introspection', 'mtls'] as const

const methods = z
  .array(choice('A way to prove who calls', methodNames))
  .min(1)
  .meta({ description: 'The ways to prove who calls: the first whose credential a request carries decides' })

const apiKey = z
  .strictObject({
    field: fieldName('The field that carries the key', 'X-Api-Key').prefault('X-Api-Key'),
  })
  .meta({ description: 'Keys made with lender-gateway hash-key' })

/** Describes how it is found out who calls. */
export const authSchema = orOff(
  z
    .strictObject({
      methods,
      apiKey: apiKey.prefault({}),
      jwt: jwt.optional(),
      introspection: introspection.optional(),
      mtls: mtls.prefault({}),
      bound: bound.prefault('none'),
      dpop: dpop.prefault('none'),
      credentials: choice('Whether upstreams get the credentials that were checked here', [
        'forward',
        'strip',
      ]).prefault('strip'),
      identityField: optionalFieldName(
        'The field in which upstreams are told whose request it is; what clients send in it is removed',
        'X-Client-Id',
      ).prefault('none'),
    })
    .meta({
      description: 'How clients prove who they are; none: their credentials are passed on and nobody looks at them',
    }),
  '{ methods: [apiKey] }',
)

/** Describes what one operation asks for, where it differs. */
export const operationAuth = orOff(
  z
    .strictObject({
      methods: methods.optional(),
      scopes: z.array(scope).max(32).meta({ description: 'What a token must be good for: all of these' }).prefault([]),
      claims: claims.prefault({}).meta({ description: 'What a token must say: all of this' }),
    })
    .meta({ description: 'Who may call this operation' }),
  '{ methods: [apiKey] }',
)
