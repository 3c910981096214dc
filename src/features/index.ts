import type { Feature } from '../core/feature.ts'
import { audit } from './audit/index.ts'
import { auth } from './auth/index.ts'
import { bundle } from './bundle/index.ts'
import { cache } from './cache/index.ts'
import { candidate } from './candidate/index.ts'
import { operatorConsole } from './console/index.ts'
import { contract } from './contract/index.ts'
import { contractLearning } from './contract-learning/index.ts'
import { explain } from './explain/index.ts'
import { http2 } from './http2/index.ts'
import { httproute } from './httproute/index.ts'
import { idempotency } from './idempotency/index.ts'
import { limits } from './limits/index.ts'
import { openapi } from './openapi/index.ts'
import { overrides } from './overrides/index.ts'
import { overview } from './overview/index.ts'
import { proxyProtocol } from './proxy-protocol/index.ts'
import { redis } from './redis/index.ts'
import { retry } from './retry/index.ts'
import { sample } from './sample/index.ts'
import { systemd } from './systemd/index.ts'
import { tail } from './tail/index.ts'
import { top } from './top/index.ts'
import { tracing } from './tracing/index.ts'
import { workers } from './workers/index.ts'

/**
 * The features of this gateway: to leave one out, take away its line and its folder. Of several in one
 * place, the first comes first.
 */
export const features: readonly Feature[] = [
  overrides,
  overview,
  workers,
  audit,
  cache,
  idempotency,
  contract,
  contractLearning,
  retry,
  redis,
  limits,
  auth,
  candidate,
  bundle,
  operatorConsole,
  explain,
  openapi,
  http2,
  httproute,
  proxyProtocol,
  sample,
  systemd,
  tail,
  top,
  tracing,
]
