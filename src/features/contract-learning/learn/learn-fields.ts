import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'
import { looksLikeData } from '../../contract/looks-like-data.ts'
import type { LearnedName, LearnedRequest } from './learned-contract.ts'
import { findOrAddName, type Sighting } from './name-table.ts'

/** Fields of the protocol that an interface may ask for. Of all others, only those that begin with `x-` are learnt. */
const registered = ['accept-language', 'idempotency-key', 'if-match', 'if-none-match', 'prefer']

// What the gateway or a proxy sets.
const ignored = /^x-(?:forwarded-|real-ip$|request-id$)/

/**
 * Learns which header fields the requests have, and whether more than once. Names are told apart as in a contract, and
 * values are not looked at. Fields with credentials are left out: those of `credentialFields`, with underscores folded,
 * and all whose names say so.
 */
export const learnFields = (
  sighting: Sighting,
  request: LearnedRequest,
  fields: HeaderFields,
  credentialFields: ReadonlySet<string>,
): void => {
  for (const [name, times] of countByName(fields)) {
    if (credentialFields.has(name)) continue
    const isData = !request.fields.named.has(name) && looksLikeData(name)
    if (isData) request.dataNames++
    const field = isData ? undefined : findOrAddName(request.fields, name, sighting, table)
    if (field === undefined) continue
    field.count++
    if (times > 1) field.repeated++
  }
}

const countByName = (fields: HeaderFields): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  for (let i = 0; i < fields.length; i += 2) {
    const name = foldUnderscores(fields[i] ?? '')
    if (registered.includes(name) || (name.startsWith('x-') && !ignored.test(name) && !namesCredential(name)))
      times.set(name, (times.get(name) ?? 0) + 1)
  }
  return times
}

export const createField = (): LearnedName => ({ count: 0, repeated: 0 })

/** The most header fields of one operation. */
const table = { max: 32, create: createField }
