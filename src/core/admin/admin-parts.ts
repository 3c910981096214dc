import { type AdminPart, adminPartLoaders } from './admin-part.ts'

const adminParts: readonly AdminPart[] = await Promise.all([...adminPartLoaders].map((load) => load()))

/** In the order of the list of features. */
export const featureReports = adminParts.flatMap(({ reports = [] }) => reports)
