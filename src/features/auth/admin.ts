import type { AdminContext } from '../../core/admin/admin-context.ts'
import type { OpenProofs, PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import type { Config } from '../../core/config/config.ts'
import { asList, asNullable, asNumber, asObject, asText, type Decoded } from '../../core/lib/text/decode.ts'
import { derived, fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { tokenFindings } from './findings.ts'
import { authMetrics } from './metrics.ts'
import { tokensField } from './status.ts'
import type { IssuerKeysState } from './tokens/jwt/jwks-cache.ts'

export const findings: readonly PlacedFindings[] = [{ after: 'credentials', value: tokenFindings }]

export const findingInputs = ({ operatorKeys }: AdminContext) => ({
  operatorKeys: operatorKeys() as IssuerKeysState | null,
})

export const openProofs: OpenProofs = async (log, refusals) =>
  new (await import('./operators/operator-jwts.ts')).OperatorJwts(log, refusals)

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: authMetrics }]

const clientsShape = asObject({ methods: asList(asText), count: asNumber, disabled: asNumber })

/** Shows how clients authenticate. Operations that differ are in /config. */
export const clientsStatus = ({
  auth,
  clients,
}: Pick<Config, 'auth' | 'clients'>): Decoded<typeof clientsShape> | null =>
  auth === null && clients.length === 0
    ? null
    : {
        methods: auth?.methods ?? [],
        count: clients.length,
        disabled: clients.filter(({ disabled }) => disabled).length,
      }

declare module '../../core/admin/api/status.ts' {
  interface Status {
    /** How clients authenticate, and how many there are; null: they do not. */
    readonly clients: Decoded<typeof clientsShape> | null
    readonly tokens: Shown<typeof tokensField>
  }
}

export const status: readonly PlacedStatus[] = [
  {
    after: 'upstreams',
    key: 'clients',
    field: derived(asNullable(clientsShape), ({ inputs }: StatusInputs) => clientsStatus(inputs.config)),
  },
  { after: 'upstreams', key: 'tokens', field: fromReport('tokens', tokensField) },
]
