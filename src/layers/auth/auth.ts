import type { Answer, Exchange, Handle, Layer } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonOf } from '../../failures/reasons.ts'
import { type Fields, withTwins } from '../../fields.ts'
import { refuseTokenInQuery, shownIn } from './authorization.ts'
import type { Claims } from './claims.ts'
import type { Method, Proved, ProvedToken } from './method.ts'
import { challengeOf, type Scheme } from './refused.ts'

/** Is what holds for whoever comes to an operation. */
export interface AuthTerms {
  /** In order: the first whose credential a request carries decides. */
  readonly methods: readonly Method[]
  /** Whether the credentials go on to the upstream. */
  readonly forwards: boolean
  /** The field that tells the upstream who it is; null: nothing does. */
  readonly identityField: string | null
  readonly required: Required
  /** What proofs of possession may be signed with; null: they are not taken. */
  readonly algorithms: readonly string[] | null
}

/**
 * Lets in whoever proves who it is and may call the operation. Nobody else gets further, and nothing of theirs costs more than the proof. The
 * client learns whether it is known (401) and whether it may (403), and never why not: that is in the log.
 */
export const auth = ({ methods, forwards, identityField, required, algorithms }: AuthTerms): Layer => {
  const asked = new Set(methods.map(({ challenge }) => challenge))
  const challenges = [...asked].flatMap((challenge) => ['WWW-Authenticate', challenge])
  const takesTokens = methods.some(({ fields }) => fields.includes('authorization'))
  const checkToken = entitlement(required, algorithms)
  const fieldsOnward = onward(
    methods.flatMap(({ fields }) => fields),
    forwards,
    identityField,
  )

  const unshown = (): GatewayError =>
    new GatewayError('unauthenticated', { reason: 'no-credential', cause: 'no credential', fields: challenges })

  const enter = (exchange: Exchange, method: Method, { client, token }: Proved, next: Handle): Promise<Answer> => {
    if (client === null) throw forbidden('unknown-client', 'the credential is good, and belongs to no client')
    exchange.identity = { client: client.id, method: method.name }
    if (client.disabled) throw forbidden('client-disabled', 'the client is disabled')
    if (!client.mayComeFrom(exchange.client)) throw forbidden('wrong-address', 'not from this address')
    if (!client.mayCall(exchange.operation.id)) throw forbidden('wrong-operation', 'not this operation')
    checkToken?.(token)
    exchange.fields = fieldsOnward(exchange.fields, client.id)
    return next(exchange)
  }

  return (next) => async (exchange) => {
    refuseTokenInQuery(exchange.query)
    // Two of them are refused also where another credential would decide: an upstream may get them, and take the other one.
    if (takesTokens) shownIn(exchange.fields)
    const method = methods.find((each) => each.applies(exchange))
    if (method === undefined) throw unshown()
    exchange.proving = method.name
    return enter(exchange, method, await method.prove(exchange), next)
  }
}

const forbidden = (reason: ReasonOf<'forbidden'>, why: string): GatewayError =>
  new GatewayError('forbidden', { reason, cause: why })

/**
 * Makes what the fields of a request become for its upstream: without the credentials, unless they are forwarded, and with who it is.
 * `credentials` are the names, in lower case, of the fields that were looked at. What a back end may read as one of them, and nobody has looked
 * at, never goes on.
 */
const onward = (
  credentials: readonly string[],
  forwards: boolean,
  identityField: string | null,
): ((fields: Fields, client: string) => Fields) => {
  const exact = new Set(credentials)
  const folded = new Set(credentials.map(withTwins))
  const lengths = new Set(credentials.map(({ length }) => length))
  const goesOn = (name: string): boolean =>
    !(lengths.has(name.length) && folded.has(withTwins(name))) || (forwards && exact.has(name.toLowerCase()))
  return (fields, client) => {
    const kept: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (goesOn(name)) kept.push(name, fields[i + 1] as string)
    }
    if (identityField !== null) kept.push(identityField, client)
    return kept
  }
}

/** Is what a token must bring for one operation, beside being good. */
interface Required {
  /** All of these: RFC 6749 §3.3. */
  readonly scopes: readonly string[]
  /** All of this, to the letter. */
  readonly claims: Readonly<Record<string, string>>
}

/**
 * Makes what checks that a token is good for one operation; null: whoever is let in may call it. What is no token says nothing. `algorithms`
 * are those that proofs of possession may be signed with; null: they are not taken.
 */
export const entitlement = (
  { scopes, claims: wanted }: Required,
  algorithms: readonly string[] | null,
): ((token: ProvedToken | null) => void) | null => {
  const said = Object.entries(wanted)
  if (scopes.length === 0 && said.length === 0) return null
  // RFC 6750 §3.1: what is missing may be told, because everybody may know what an operation asks for.
  const challenge = (scheme: Scheme): string => challengeOf(scheme, algorithms, { error: 'insufficient_scope', scopes })
  const challenges = { bearer: challenge('bearer'), dpop: challenge('dpop') }
  return (token) => {
    const claims = token?.claims ?? {}
    const has = scopesOf(claims)
    if (!scopes.every((scope) => has.includes(scope)))
      throw new GatewayError('forbidden', {
        reason: 'missing-scope',
        cause: 'the token lacks a scope',
        fields: ['WWW-Authenticate', challenges[token?.scheme ?? 'bearer']],
      })
    if (!said.every(([name, value]) => Object.hasOwn(claims, name) && claims[name] === value))
      throw new GatewayError('forbidden', { reason: 'missing-claim', cause: 'the token does not say what it must' })
  }
}

/** Reads the scopes of a token: one text with blanks between them, or a list as some issuers have it. */
const scopesOf = ({ scope }: Claims): readonly unknown[] => {
  if (typeof scope === 'string') return scope.split(' ')
  return Array.isArray(scope) ? scope : []
}

/**
 * Removes what clients send in the field that tells upstreams who calls: whoever could write it would be anybody. For every operation,
 * those included that ask nobody who it is.
 */
export const identityField = (name: string): Layer => {
  const folded = withTwins(name)
  return (next) => (exchange) => {
    const { fields } = exchange
    for (let i = 0; i < fields.length; i += 2)
      if (withTwins(fields[i] as string) === folded) {
        exchange.fields = fields.filter((_, at) => withTwins(fields[at - (at % 2)] as string) !== folded)
        break
      }
    return next(exchange)
  }
}
