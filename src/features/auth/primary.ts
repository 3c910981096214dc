import { type PlacedProtections, protectOperations } from '../../core/runtime/primary-part.ts'

export { preflight } from './tokens/preflight.ts'

// `auth.mtls` is not here: a rollback keeps it.
export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: protectOperations('auth', ({ operations }, id) => operations[id].auth !== null, {
    path: 'auth',
    isOn: ({ auth }) => auth !== null,
  }),
}
