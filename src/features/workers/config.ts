import { type ConfigPart, type ConfigSection, configParts } from '../../core/config/config-part.ts'
import type { DividedLimit, WarningInput, WarningRule } from '../../core/config/rules/rule.ts'
import { annotate } from '../../core/config/schema/annotations.ts'
import { integerKind } from '../../core/config/schema/kinds.ts'
import { scalar } from '../../core/config/schema/scalar.ts'
import { InvalidScalar } from '../../core/config/schema/scalar-kind.ts'
import { groups } from '../../operations.ts'
import { workerCount } from './primary.ts'

const maxWorkers = 64
const workerCountKind = integerKind({ min: 1, max: maxWorkers })

const workers = scalar<number | 'auto'>('How many processes serve clients; auto: one for each core', {
  expected: `auto, or a whole number from 1 to ${maxWorkers}`,
  parse: (value, fromVariable) => {
    if (value === 'auto') return 'auto'
    if (typeof value === 'string' && value.trim().toLowerCase() === 'auto')
      return new InvalidScalar('unknown value', 'write auto')
    return workerCountKind.parse(value, fromVariable)
  },
  json: { anyOf: [{ const: 'auto' }, workerCountKind.json] },
})

declare module '../../core/config/config.ts' {
  interface ParsedConfig {
    readonly workers: number | 'auto'
  }
}

export const sections: readonly ConfigSection[] = [
  { after: 'allowSandbox', key: 'workers', schema: annotate(workers.prefault(1), { restart: true }) },
]

export const countProcesses: Required<ConfigPart>['countProcesses'] = workerCount

const moreWorkersThanCores: WarningRule = ({ config: { workers }, cores }) =>
  workers !== 'auto' &&
  workers > Math.max(1, cores) && {
    path: ['workers'],
    message: 'more workers than this machine has cores: some only wait for their turn',
    expected: `at most ${cores} here, or auto`,
    found: String(workers),
    hint: 'write auto; if the gateway runs on another machine than this, compare with the cores there',
  }

const indivisibleLimits: WarningRule = (loaded) =>
  [...limitsOfCore(loaded), ...configParts.flatMap((part) => part.dividedLimits?.(loaded) ?? [])].map(
    ([path, limit]) =>
      limit != null &&
      limit > 0 &&
      limit < loaded.processes && {
        path,
        message: `this is exceeded: each of ${loaded.processes} workers takes one at least`,
        expected: `${loaded.processes} or more`,
        found: String(limit),
        hint: `write ${loaded.processes} or more, or have fewer workers`,
      },
  )

const limitsOfCore = ({ parsed: { listen, defaults, upstreams } }: WarningInput): readonly DividedLimit[] => [
  [['listen', 'maxConnections'], listen.maxConnections],
  ...(['maxConnections', 'maxPending'] as const).flatMap((key): readonly DividedLimit[] => [
    [['defaults', key], groups.some((group) => upstreams[group][key] === undefined) ? defaults[key] : null],
    ...groups.map((group) => [['upstreams', group, key], upstreams[group][key]] as const),
  ]),
]

export const warnings: readonly WarningRule[] = [moreWorkersThanCores, indivisibleLimits]
