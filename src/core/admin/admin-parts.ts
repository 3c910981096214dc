import { onlyOne } from '../lib/part-loaders.ts'
import { noProofs } from './access/operator-tokens.ts'
import type { FindClients } from './admin-context.ts'
import { adminPartLoaders, type OpenPages, type OpenProofs } from './admin-part.ts'

export const adminParts = await adminPartLoaders.load()

const allOnPrimary: FindClients = () => ({ primary: 'all', others: 'none' })

export const findClients: FindClients = onlyOne(adminParts, (part) => part.findClients) ?? allOnPrimary

export const openProofs: OpenProofs = async (log, refusals) =>
  onlyOne(adminParts, (part) => part.openProofs)?.(log, refusals) ?? noProofs

/** Undefined: no feature brings pages, so no client has a session. */
export const openPages: OpenPages | undefined = onlyOne(adminParts, (part) => part.openPages)
