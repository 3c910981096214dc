import { asNullable } from '../../core/lib/text/decode.ts'
import type { Snapshot } from '../../core/runtime/snapshot/snapshot.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'
import { type ClientActivityReport, mergeClientActivity } from './client-activity.ts'
import type { IssuerKeysState } from './tokens/jwt/jwks-cache.ts'

const health = {
  error: field.optionalText,
  since: field.time,
  lastSuccess: field.optionalTime,
  where: field.optionalText,
}

const issuerKeys = field.record({ source: field.word<'url' | 'file'>(), keys: field.number, ...health })

const hasNoKeys = ({ keys }: field.Reported<typeof issuerKeys>): boolean => keys === 0

const isFailing = ({ error }: { readonly error: string | null }): boolean => error !== null

export const tokensField = field.record({
  /** A worker without keys is worse than a worker that cannot refresh them. */
  jwt: field.nullable(field.worst(issuerKeys, (one, all) => (all.some(hasNoKeys) ? hasNoKeys(one) : isFailing(one)))),
  introspection: field.nullable(field.worst(field.record(health), isFailing)),
  operators: field.derived(asNullable(issuerKeys.decode), (_, context) => {
    const keys = context.operatorKeys() as IssuerKeysState | null
    return keys && issuerKeys.show({ ...keys, where: null }, context)
  }),
  /** The primary keeps the replay window for all workers. */
  proofs: field.nullable(field.record({ remembered: field.number, room: field.number })),
})

const collectTokens = ({ parts }: Snapshot): field.Reported<typeof tokensField> => {
  const { jwt = null, introspection = null, proofs = null } = parts.auth?.provider?.state() ?? {}
  const where = null
  return { jwt: jwt && { ...jwt, where }, introspection: introspection && { ...introspection, where }, proofs }
}

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly tokens: field.Reported<typeof tokensField>
    /** Null: `auth` is off. */
    readonly clients: ClientActivityReport | null
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'tokens', field: tokensField, collect: collectTokens },
  {
    key: 'clients',
    field: field.known(mergeClientActivity),
    collect: ({ config, parts }) => (config.auth && parts.auth?.clientActivity.report) ?? null,
  },
]
