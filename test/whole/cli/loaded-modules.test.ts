/** A command loads what it needs, and nothing else: a process of its own shows it. */
import { expect, test } from 'vitest'
import { configFileWith, jsonResponse, runCommand, scriptedAdmin } from '../../core/cli/scripted-admin.ts'
import { healthyStatus, statusResponse } from '../../core/cli/status-fixtures.ts'
import { configText } from '../../helpers/gateway.ts'

const spy = `
  import { registerHooks } from 'node:module'
  const load = (url, context, next) => {
    process.stderr.write(url + '\\n')
    return next(url, context)
  }
  registerHooks({ load })`

/** Runs a command, and lists the packages that it loads, and whether it loads features. */
const loaded = async (...args: readonly string[]) => {
  const node = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`]
  const { code, err } = await runCommand(args, {}, { node })
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
