/**
 * Compares the gateway with other proxies in one run on one machine: each in a process of its own in front of the same
 * upstream, taking turns round by round. Prints a table; no timed test, so its exit code says only whether the gateway
 * could be measured.
 */
import { writeFile } from 'node:fs/promises'
import { capacity, renderCapacity } from './capacity.ts'
import { choosePeers, chooseWorkloads } from './choose-peers.ts'
import { comparison } from './comparison.ts'
import { layers } from './layers/layers.ts'
import { chooseLevels, withBefore } from './layers/levels.ts'
import { renderLayers } from './layers/render.ts'
import { type Options, readOptions, usage } from './options.ts'
import { gateway } from './peers/gateway.ts'
import { drawPicture } from './picture.ts'
import { killAll } from './process.ts'
import { reload, renderReload } from './reload.ts'
import { manyClients, movedGroups } from './reload-cases.ts'
import { render } from './render.ts'
import { scale } from './scale.ts'
import { withStage } from './stage.ts'

const parse = () => {
  try {
    const options = readOptions(process.argv.slice(2))
    return {
      options,
      chosen: options.layers ? [] : choosePeers(options),
      levels: options.layers ? chooseLevels(options.only) : [],
      asked: chooseWorkloads(options),
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const main = async (): Promise<void> => {
  const { options, chosen, levels, asked } = parse()
  const { scale: table, picture } = options
  if (picture !== null) return drawPicture(picture)
  if (options.reload) {
    const workers = options.only?.includes('gateway-workers') ? 2 : 1
    const found = await withStage(options, (stage) =>
      reload(stage, workers, table === 'clients' ? manyClients : [movedGroups]),
    )
    return finish(found, renderReload(found), options)
  }
  if (options.capacity) {
    const found = await withStage(options, capacity)
    return finish(found, renderCapacity(found), options)
  }
  if (options.layers) {
    const found = await withStage(options, (stage) => layers(stage, withBefore(levels, options.before), asked))
    return finish(found, renderLayers(found), options)
  }
  const report = await withStage(options, (stage) =>
    table === null ? comparison(stage, chosen, asked) : scale(stage, table),
  )
  const ours = report.peers.find(({ peer }) => peer === gateway.name)
  process.exitCode = ours === undefined || ours.problems.length === 0 ? 0 : 1
  return finish(report, render(report), options)
}

const finish = async (result: unknown, text: string, { json }: Options): Promise<void> => {
  console.log(text)
  if (json !== null) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}

await main()
