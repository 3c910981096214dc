import { type AdminPart, adminPartLoaders } from './admin-part.ts'

/** In the order of the list of features. */
export const adminParts: readonly AdminPart[] = await Promise.all([...adminPartLoaders].map((load) => load()))

export const featureReports = adminParts.flatMap(({ reports = [] }) => reports)
