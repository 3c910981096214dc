import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../../src/core/config/environment.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { formatProblems } from '../../../src/core/config/problem.ts'
import { examples, kubernetesConfig, read, scratch } from './files.ts'

/** Lists every configuration that is shipped for running the gateway, as text. */
export const configurations = [
  { name: 'the image', text: read('config/image.yaml') },
  { name: 'kubernetes', text: kubernetesConfig() },
  { name: 'kubernetes, demo', text: kubernetesConfig('demo') },
  { name: 'kubernetes, production', text: kubernetesConfig('production') },
  { name: 'systemd', text: read(`${examples}/systemd/gateway.yaml`) },
  { name: 'compose', text: read(`${examples}/compose/gateway/gateway.yaml`) },
] as const

type Name = (typeof configurations)[number]['name']

/** Finds the text of one. */
export const textOf = (wanted: Name): string => configurations.find(({ name }) => name === wanted)?.text ?? ''

/** The admin token that lies beside each. */
export const tokenBeside = 'k'.repeat(64)

/** What Prometheus has, beside that of Kubernetes. */
export const metricsTokenBeside = 'm'.repeat(64)

/** The files of the Secrets, which lie beside that of Kubernetes. */
export const secretsBeside = {
  'admin-token': `${tokenBeside}\n`,
  'metrics-token': metricsTokenBeside,
  'redis-limits': 'l'.repeat(64),
  'redis-idempotency': 'i'.repeat(64),
  'idempotency-key': Buffer.alloc(32, 7).toString('base64'),
  'audit-key': 'a'.repeat(64),
} as const

/** Loads one as `serve` does, from a folder with the token beside it; throws with its problems when it has any. */
export const load = (name: Name, environment: Environment = {}) => {
  const folder = scratch({ 'gateway.yaml': textOf(name), ...secretsBeside })
  // Those of Compose, which a service makes, each in a folder of its own.
  for (const [kind, token] of Object.entries({ admin: tokenBeside, metrics: metricsTokenBeside })) {
    mkdirSync(join(folder, kind))
    writeFileSync(join(folder, kind, 'token'), token)
  }
  const result = loadConfig(join(folder, 'gateway.yaml'), { TOKENS: folder, ...environment })
  if (!result.ok) throw new Error(formatProblems(result.problems))
  return result
}
