/** A command loads what it needs, and nothing else: a process of its own shows it. */
import { expect, test } from 'vitest'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { healthyStatus, statusResponse } from '../../core/cli/status-fixtures.ts'
import { configText } from '../../helpers/gateway.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'

const spy = `
  import { registerHooks } from 'node:module'
  import { isMainThread } from 'node:worker_threads'
  const load = (url, context, next) => {
    process.stderr.write(url + '\\n')
    return next(url, context)
  }
  if (isMainThread) registerHooks({ load })`
const importSpy = `data:text/javascript,${encodeURIComponent(spy)}`

/** Runs a command, and lists the packages that it loads, and whether it loads features. */
const loaded = async (...args: readonly string[]) => {
  const { code, err } = await runCommand(args, {}, { node: ['--import', importSpy] })
  const names = [...err.matchAll(/node_modules\/([^/\n]+)|^node:(?:https)$/gm)].map(([whole, name = whole]) => name)
  return { code, packages: [...new Set(names)].sort(), features: err.includes('/src/features/') }
}

test('the health check of an address', async () => {
  const { url } = await scriptedAdmin(jsonResponse({ ready: true }))

  const found = await loaded('status', '--ready', '--admin', url)

  expect(found).toEqual({ code: 0, packages: ['commander'], features: false })
})

test('status of what a file names', async () => {
  const { port } = await scriptedAdmin(statusResponse(healthyStatus))

  const found = await loaded('status', '--config', configFileWith(`admin: { port: ${port} }`))

  expect(found).toEqual({ code: 0, packages: ['commander', 'yaml'], features: false })
})

test('check of a file that names no contract: no compiler of contracts', async () => {
  const { code, packages } = await loaded('check', configFileWith(configText({ upstream: 'sandbox' })))

  expect({ code, packages }).toEqual({ code: 0, packages: ['commander', 'fastest-levenshtein', 'yaml', 'zod'] })
})

test('--help', async () => {
  expect(await loaded('--help')).toEqual({ code: 0, packages: ['commander'], features: true })
})

test('serve of a file that turns nothing on: of features, the work of those that every file uses, and no page', async () => {
  const file = configFileWith(configText({ upstream: 'sandbox' }))
  const served = serve(file, { NODE_OPTIONS: `--import=${importSpy}` })

  await waitForListening(served)
  const loadedByThen = served.errors()

  const work = loadedByThen.matchAll(/features\/([^/\n]+)\/(runtime|page|redis-connection)\.ts/g)
  expect([...work].map(([, feature, part]) => `${feature} ${part}`).sort()).toEqual([
    'limits runtime',
    'redis runtime',
    'retry runtime',
    'tail runtime',
  ])
})
