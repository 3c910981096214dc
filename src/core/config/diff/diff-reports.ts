import { allOperations, type Group, groups } from '../../../operations.ts'
import type { Config } from '../config.ts'
import { configTransfers } from '../transfer-parts.ts'
import { type ConfigChange, type ConfigReport, diffValues, toComparedValue, type ValueChange } from './diff-values.ts'

export interface ReportedConfig {
  readonly config: Config
  readonly report: ConfigReport
}

export const diffConfigs = (from: ReportedConfig, to: ReportedConfig): readonly ConfigChange[] =>
  diffReports(from.report, to.report).flatMap((change) => [
    change,
    ...configTransfers.flatMap((each) => each.detailChange?.(change, from.config, to.config) ?? []),
  ])

export const diffReports = (from: ConfigReport, to: ConfigReport): readonly ConfigChange[] => {
  const [before, after] = [comparedParts(from), comparedParts(to)]
  // The reports may come from different versions of the gateway, with different parts.
  return [...new Map([...before, ...after]).values()].flatMap(({ part, path, group }): readonly ConfigChange[] =>
    diffValues(path, before.get(part)?.compared, after.get(part)?.compared).flatMap((change) => {
      const refined = refine(change, from, to)
      return refined === null ? [] : [{ part, group, ...refined }]
    }),
  )
}

const refine = (change: ValueChange, from: ConfigReport, to: ConfigReport): ValueChange | null => {
  let refined: ValueChange | null = change
  for (const { refineChange } of configTransfers)
    if (refined !== null && refineChange !== undefined) refined = refineChange(refined, from, to)
  return refined
}

const comparedParts = ({ config, digests }: ConfigReport) =>
  new Map(
    splitIntoParts(config).map((each) => [
      each.part,
      { ...each, compared: toComparedValue(each.value, each.path, digests) },
    ]),
  )

export const changedGroups = (changes: readonly ConfigChange[]): readonly Group[] =>
  groups.filter((group) => changes.some((change) => change.group === group))

export const splitIntoParts = (tree: { readonly [key: string]: unknown }) =>
  Object.entries(tree).flatMap(([key, value]) => {
    if (key !== 'upstreams' && key !== 'operations') return [{ part: key, path: [key], group: null, value }]
    return Object.entries<unknown>(Object(value)).map(([name, part]) => {
      const named = key === 'upstreams' ? name : allOperations.find(({ id }) => id === name)?.group
      const group = groups.find((each) => each === named) ?? null
      return { part: `${key}.${name}`, path: [key, name], group, value: part }
    })
  })
