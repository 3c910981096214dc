import type { ProcessPart, RuntimePart } from '../../core/runtime/runtime-part.ts'
import { calmChanges, RedisRegistry } from './redis-registry.ts'

interface RedisProcess extends ProcessPart {
  /** The connections to `limits.redis`. */
  readonly limits: RedisRegistry
}

declare module '../../core/runtime/runtime-part.ts' {
  interface ProcessParts {
    readonly redis: RedisProcess
  }
}

export const open: RuntimePart['open'] = ({ logEvent }): RedisProcess => ({
  limits: new RedisRegistry(calmChanges(logEvent, 'limits are shared', 'limits are not shared')),
  acquire: () => ({}),
})

export const describe: RuntimePart['describe'] = () => ({})
