import { type HeaderFields, namesCredential } from '../../header-fields.ts'
import type { LearnedRequest } from './learned-contract.ts'
import { looksLikeData } from './looks-like-data.ts'
import { countedEntries, findOrAddName } from './name-table.ts'
import type { LearningContext } from './shape.ts'

/** The most header fields of one operation. */
const maxFields = 32

/** Fields of the protocol that an interface may ask for. Of all others, only those that begin with `x-` are learnt. */
const registered = ['accept-language', 'idempotency-key', 'if-match', 'if-none-match', 'prefer']

// What the gateway or a proxy sets.
const ignored = /^x-(?:forwarded-|real-ip$|request-id$)/

/**
 * Learns which header fields the requests have, by name alone. Fields with credentials are left out: those of
 * `credentialFields` (in lower case), and all whose names say so.
 */
export const learnFields = (
  context: LearningContext,
  request: LearnedRequest,
  fields: HeaderFields,
  credentialFields: ReadonlySet<string>,
): void => {
  const names = new Set<string>()
  for (let i = 0; i < fields.length; i += 2) {
    const name = (fields[i] ?? '').toLowerCase()
    if (registered.includes(name) || (name.startsWith('x-') && !ignored.test(name) && !namesCredential(name)))
      names.add(name)
  }
  for (const name of names) {
    if (credentialFields.has(name)) continue
    const isData = !request.fields.named.has(name) && looksLikeData(name)
    if (isData) request.dataNames++
    const table = { max: maxFields, create: countedEntries.create }
    const counted = isData ? undefined : findOrAddName(request.fields, name, context, table)
    if (counted !== undefined) counted.count++
  }
}
