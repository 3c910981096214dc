import { processShare } from '../../core/config/process-share.ts'
import type { PrimaryFeature } from '../../core/runtime/primary-part.ts'
import { byGroup, byOperation } from '../../operations.ts'

/** Workers divide the clients' limits themselves: there may be thousands. */
export const divide: Required<PrimaryFeature>['divide'] = (config, processes) => {
  const divided = <Limited extends { readonly concurrency: number | null }>(limited: Limited): Limited => ({
    ...limited,
    concurrency: limited.concurrency === null ? null : processShare(limited.concurrency, processes),
  })
  const { limits, upstreams, operations } = config
  return {
    ...config,
    limits: divided(limits),
    upstreams: byGroup((group) => divided(upstreams[group])),
    operations: byOperation(({ id }) => divided(operations[id])),
  }
}
