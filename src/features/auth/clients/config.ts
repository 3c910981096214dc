import * as z from 'zod'
import type { DeepReadonly } from '../../../core/config/config.ts'
import type { ConfigSection } from '../../../core/config/config-part.ts'
import type { KeyNeed } from '../../../core/config/problem.ts'
import { cidrOrAddress } from '../../../core/config/schema/address.ts'
import { annotate, optionalKey, type RenderedValue, renderMap } from '../../../core/config/schema/annotations.ts'
import { certificateName, secretDigest } from '../../../core/config/schema/credentials.ts'
import { scalar } from '../../../core/config/schema/scalar.ts'
import { InvalidScalar, patternKind, textParser } from '../../../core/config/schema/scalar-kind.ts'
import {
  boolean,
  choice,
  clientName,
  integer,
  list,
  map,
  optionalInteger,
} from '../../../core/config/schema/scalar-types.ts'
import { type Rate, requestRates } from '../../../core/lib/text/units.ts'
import { allOperations, type OperationId } from '../../../operations.ts'
import { claimsSchema } from '../config-tokens.ts'
import { maxShownClients } from './serialize-clients.ts'

/** Including clients of included files. */
export const maxClients = 100_000

const maxRate = 1_000_000

export const requestRate = (description: string) =>
  scalar<Rate>(description, {
    expected: `a rate from 1/min to ${maxRate}/s, such as 100/s or 30/min`,
    parse: (value) => {
      if (typeof value === 'boolean') return new InvalidScalar('wrong type')
      const text = String(value)
      const parsed = requestRates.parse(text)
      const suggestion = requestRates.suggest(text)
      if (parsed === undefined) return new InvalidScalar('not a rate', suggestion && `write ${suggestion}`)
      if (parsed.count < 1) return new InvalidScalar('too small', 'write at least 1/min')
      return parsed.count > maxRate ? new InvalidScalar('too large', `write at most ${maxRate}/s`) : parsed
    },
    render: requestRates.format,
    json: { type: 'string', pattern: requestRates.pattern },
  })

// No dot: the first dot of a key ends the id.
const keyId = annotate(
  scalar(
    'The public half of the key',
    patternKind(
      'the part of a key before its dot: 1 to 64 letters, digits and -_',
      '^[0-9A-Za-z_-]{1,64}$',
      'not the id of a key',
    ),
  ),
  { sensitive: true },
)

const sha256 = secretDigest('The SHA-256 of the secret half of the key', 'hash-key')

const operations = z
  .union([
    scalar<null>('All nine', {
      expected: 'all',
      parse: (value) =>
        value === 'all' ? null : new InvalidScalar('not a list of operations', 'write all, or [market.insights, …]'),
      render: () => 'all',
      json: { enum: ['all'] },
    }),
    z
      .array(
        choice<OperationId>(
          'An operation',
          allOperations.map(({ id }) => id),
        ),
      )
      .min(1),
  ])
  .meta({ description: 'Operations that the client may call' })

/** Replaced by the file's clients before the schema applies. */
const clientFileReference = scalar<string>('A list of clients in a file of its own', {
  expected: 'file: and the path of a list of clients',
  parse: textParser((value) =>
    isClientFileReference(value)
      ? value
      : new InvalidScalar('not a list of clients', 'write file: and the path of one'),
  ),
  json: { type: 'string', pattern: '^file:.+$' },
})

export const isClientFileReference = (text: string): boolean => text.startsWith('file:') && text.length > 'file:'.length

export const clientSchema = z
  .strictObject({
    id: clientName('The client’s name, in the log and for upstreams'),
    disabled: boolean('Whether the client is rejected, even with a valid credential').prefault(false),
    apiKeys: list(
      'The keys of the client; two while a key is replaced',
      map('A key, as lender-gateway hash-key prints it', { id: keyId, sha256 }),
      { max: 8, sensitive: true },
    ).prefault([]),
    claims: claimsSchema.prefault({}),
    certificates: list(
      'Names or fingerprints of the client’s certificates',
      certificateName('A name in the certificate, or the fingerprint of the certificate'),
      { max: 32 },
    ).prefault([]),
    operations,
    addresses: list('Addresses that the client may call from; none: all', cidrOrAddress('An address or a CIDR'), {
      max: 256,
    }).prefault([]),
    rate: optionalKey(
      requestRate('Most requests a second (100/s) or a minute (30/min), of all operations together; none: no limit'),
    ),
    burst: optionalKey(integer('Most requests at once; default: the number in rate', { min: 1, max: 1_000_000 })),
    concurrency: optionalInteger('Most exchanges that the client has in flight; its further requests get 429', {
      min: 1,
      max: 1_000_000,
    }).prefault('none'),
  })
  .meta({ id: 'Client', description: "A lender's system" })

const burstHint = 'add rate: 100/s, or remove burst'

export const clientNeeds: readonly KeyNeed[] = [
  { key: 'burst', needs: 'rate', message: 'burst without rate', found: 'none', hint: burstHint },
]

const clientsSchema = z
  .union([clientFileReference, z.array(z.union([clientFileReference, clientSchema])).max(maxClients)])
  .meta({ description: "The lenders' systems that may call" })

/** `burst` is set where `rate` is. */
export type ClientConfig = DeepReadonly<z.output<typeof clientSchema>>

/** In order. `file`: as the configuration writes it; null: the configuration itself. */
type ClientParts = readonly { readonly file: string | null; readonly count: number }[]

declare module '../../../core/config/config.ts' {
  interface Config {
    readonly clients: readonly ClientConfig[]
    /** `digest`: SHA-256 of all resolved clients, in hex; empty without clients. */
    readonly clientsSource: { readonly parts: ClientParts; readonly digest: string }
  }
}

export const clientsKey: ConfigSection = {
  key: 'clients',
  before: 'admin',
  schema: clientsSchema.prefault([]),
  // With thousands of clients, only the position of `clients` is kept.
  entryKeys: ['rate', 'concurrency'],
  render: ({ clients, clientsSource: { parts } }) =>
    parts.length === 1 && parts[0]?.file ? parts[0].file : renderParts(clients, parts),
}

const renderParts = (clients: readonly ClientConfig[], parts: ClientParts): RenderedValue => {
  let start = 0
  return parts.flatMap(({ file, count }): readonly RenderedValue[] => {
    const ownClients = clients.slice(start, start + count)
    start += count
    if (file !== null) return [file]
    return clients.length <= maxShownClients
      ? ownClients.map((client) => renderMap(clientSchema, client))
      : [`${count} clients`]
  })
}
