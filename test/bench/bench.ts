/**
 * Compares the gateway with other proxies in one run on one machine: each in a process of its own in front of the same upstream,
 * taking turns round by round. Prints a table; no timed test, so its exit code tells only whether the gateway could be measured.
 */
import { writeFile } from 'node:fs/promises'
import { choosePeers, chooseWorkloads } from './choose.ts'
import { comparison } from './comparison.ts'
import { readOptions, usage } from './options.ts'
import { gateway } from './peers/gateway.ts'
import { killAll } from './process.ts'
import { render } from './render.ts'
import { onStage } from './stage.ts'

const parse = () => {
  try {
    const options = readOptions(process.argv.slice(2))
    return { options, chosen: choosePeers(options), asked: chooseWorkloads(options) }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const main = async (): Promise<void> => {
  const { options, chosen, asked } = parse()
  const report = await onStage(options, (stage) => comparison(stage, chosen, asked))
  console.log(render(report))
  if (options.json !== null) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
  const ours = report.peers.find(({ peer }) => peer === gateway.name)
  process.exitCode = ours === undefined || ours.problems.length === 0 ? 0 : 1
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}

await main()
