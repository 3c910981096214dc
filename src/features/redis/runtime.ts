import type { ProcessPart, RuntimePart } from '../../core/runtime/runtime-part.ts'
import { calmChanges, RedisRegistry } from './redis-registry.ts'

interface RedisProcess extends ProcessPart {
  /** For the features that count. */
  readonly counts: RedisRegistry
}

declare module '../../core/runtime/runtime-part.ts' {
  interface ProcessParts {
    readonly redis: RedisProcess
  }
}

export const open: RuntimePart['open'] = ({ logEvent }): RedisProcess => ({
  counts: new RedisRegistry(calmChanges(logEvent, 'limits are shared', 'limits are not shared')),
  acquire: () => ({}),
})

export const describe: RuntimePart['describe'] = () => ({})
