/** `npm start`, the first command of the README, with a real npm on the machine's own Node. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { exchangeRaw } from '../../helpers/raw-client.ts'
import { npmStart, waitForListening } from '../../helpers/serve-process.ts'
import { drill, test } from '../../helpers/speed.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { bareGet } from '../../helpers/wire.ts'
import { validConfig } from '../config/helper.ts'

const npm = await needProgram('npm')

const own = (process.env.PATH ?? '').split(delimiter).filter((directory) => !directory.includes('node_modules'))

test('the file that is shipped takes its ports from PORT and ADMIN_PORT', () => {
  const { listen, admin } = validConfig(readFileSync('config/gateway.yaml', 'utf8'), { PORT: '0', ADMIN_PORT: '1' })

  expect([listen.port, admin.port]).toEqual([0, 1])
})

// The pinned Node: test/whole/commands/commands.drill.ts.
drill.skipIf(npm.missing)('PORT and ADMIN_PORT set the ports of npm start, and SIGTERM lets requests end', async () => {
  const release = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
  const folder = mkdtempSync(join(tmpdir(), 'npm-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gateway.yaml')
  const shipped = readFileSync('config/gateway.yaml', 'utf8').replace('market: sandbox', `market: ${upstream.url}`)
  writeFileSync(file, `${shipped}\nshutdown: { wait: 0s }\n`)
  const env = { HOME: folder, PATH: own.join(delimiter), PORT: '0', ADMIN_PORT: '0' }
  const served = npmStart(npm.path ?? '', file, env)
  const port = await waitForListening(served)
  const { port: admin } = await served.line(({ msg }) => msg === 'admin listening')
  for (const each of [port, admin]) expect([8080, 9901]).not.toContain(each)
  const running = exchangeRaw(port, bareGet())
  await expect.poll(() => upstream.begun()).toBe(1)

  served.signal('SIGTERM')
  await served.line(({ msg }) => msg === 'stopping')
  release.resolve()

  expect(await running).toMatch(/^HTTP\/1.1 200 .*late$/s)
  expect(await served.ended).toEqual({ code: 0, signal: null })
  await expect(exchangeRaw(port, '')).rejects.toThrow('ECONNREFUSED')
})
