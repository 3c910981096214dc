import { table } from '../table.ts'
import type { LayersReport } from './layers.ts'

/** Writes the table, and below it whatever makes a figure in it worthless. */
export const renderLayers = ({ date, machine, load, rows, absent }: LayersReport): string => {
  const cells = rows.map(({ workload, name, over, layers: list, cpuUs, more }) => [
    workload,
    name,
    list.length === 0 ? '(none)' : list.join(', '),
    over ?? '',
    cpuUs.toFixed(1),
    more === null ? '' : `${signed(more.middle)} (${signed(more.low)} to ${signed(more.high)})`,
  ])
  const found = rows.flatMap(({ name, problems }) => problems.map((each) => `${name}: ${each}`))
  const missing = absent.flatMap(({ description, problems }) => problems.map((each) => `${description}: ${each}`))
  return [
    `${date}; ${machine}; ${load}`,
    table(['workload', 'what is on', 'layers in the list', 'compared with', 'CPU µs', 'more, 95 %'], cells, 4),
    ...new Set([...found, ...missing]),
  ].join('\n\n')
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`
