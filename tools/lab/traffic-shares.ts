/**
 * Shows which share of the traffic an endpoint gets that is fast because it is wrong, that fails, or that is slow, at
 * 1, 4 and 64 requests on their way: `node tools/lab/traffic-shares.ts [--real] [--seconds N] [TREE...]`. Without
 * `--real` time is simulated, so that the figures are the same on every machine; with it, a gateway runs in front of
 * servers. A tree is the folder of another version, with its node_modules, which is measured in the same way; the last
 * of several figures is this one's.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type CaseResult, cases, percent, weightShare } from './traffic-shares-cases.ts'
import { openRealCases } from './traffic-shares-real.ts'
import { openSimulatedCases } from './traffic-shares-simulated.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { real: { type: 'boolean', default: false }, seconds: { type: 'string', default: '20' } },
})
const concurrencies = [1, 4, 64]
const trees = [...positionals, fileURLToPath(new URL('../..', import.meta.url))]

const measured = new Map<string, CaseResult>()
for (const tree of trees)
  for (const lanes of concurrencies) {
    const seconds = Number(values.seconds)
    const { measure, close } = values.real
      ? await openRealCases(tree, seconds)
      : { measure: await openSimulatedCases(tree, seconds), close: async () => {} }
    for (const each of cases) measured.set(`${tree} ${lanes} ${each.group}`, await measure(each, lanes))
    await close()
  }

const print = (title: string, said: (result: CaseResult) => string): void => {
  console.log(`\n| ${title} | its weight | ${concurrencies.join(' | ')} |`)
  console.log(`|---|---|${concurrencies.map(() => '---|').join('')}`)
  for (const each of cases) {
    const cells = concurrencies.map((lanes) =>
      trees.map((tree) => said(measured.get(`${tree} ${lanes} ${each.group}`) as CaseResult)).join(' → '),
    )
    console.log(`| ${each.name} | ${percent(weightShare(each), 1)} | ${cells.join(' | ')} |`)
  }
}

print('share of the traffic, %', ({ watched, all }) => percent(watched, all))
print('5xx that clients heard, %', ({ failed, asked }) => percent(failed, asked))
print('p99 of clients, ms', ({ p99 }) => p99.toFixed(1))
