import type { Answer, Exchange, Handle, Layer } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonOf } from '../../failures/reasons.ts'
import { refuseTokenInQuery, shownIn } from './authorization.ts'
import { entitlement, type Required } from './entitlement.ts'
import type { Method, Proved } from './method.ts'
import { onward } from './onward.ts'

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
