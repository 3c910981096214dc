import { noProofs } from './access/operator-proofs.ts'
import { type AdminPart, adminPartLoaders, type FindClients, type OpenPages, type OpenProofs } from './admin-part.ts'

/** In the order of the list of features. */
export const adminParts: readonly AdminPart[] = await Promise.all([...adminPartLoaders].map((load) => load()))

export const featureReports = adminParts.flatMap(({ reports = [] }) => reports)

const allOnPrimary: FindClients = () => ({ primary: 'all', others: 'none' })

export const findClients: FindClients = adminParts.flatMap((part) => part.findClients ?? [])[0] ?? allOnPrimary

export const openProofs: OpenProofs = async (log, refusals) =>
  adminParts.flatMap((part) => part.openProofs ?? [])[0]?.(log, refusals) ?? noProofs

/** Undefined: no feature brings pages, so no client has a session. */
export const openPages: OpenPages | undefined = adminParts.flatMap((part) => part.openPages ?? [])[0]
