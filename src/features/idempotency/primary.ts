import { type PlacedProtections, protectOperations } from '../../core/runtime/primary-part.ts'

export const protections: PlacedProtections = {
  before: 'tls.verify',
  value: protectOperations('idempotency', ({ operations }, id) => operations[id].idempotency !== null),
}
