import type { AdminContext } from './admin-context.ts'
import type { AdminError } from './admin-error.ts'

/** A report of the operator's listener, which a GET by anyone with the scope `read` gets as JSON. */
export interface AdminReport {
  readonly path: string
  respond(context: AdminContext): Promise<object | AdminError>
}

/** What a feature brings to the operator's listener. */
export interface AdminPart {
  readonly reports?: readonly AdminReport[]
}

export type LoadAdminPart = () => Promise<AdminPart>

/** Of each feature that operators see: added before `admin-parts.ts` is imported. */
export const adminPartLoaders = new Set<LoadAdminPart>()
