/**
 * The commands of docs/deploying.md and docs/upgrading.md for systemd, as printed, in a shell: installed, with a socket
 * unit, upgraded under load, and back.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type StandIn, standIn } from '../../features/systemd/systemd-stand-in.ts'
import { freePort } from '../../helpers/free-port.ts'
import { needProgram } from '../../helpers/program.ts'
import { openServer, steadyLoad } from '../../helpers/steady-load.ts'
import { root, scratch } from './files.ts'
import { commandsBelow, git, makeRepository } from './repository.ts'

const run = promisify(execFile)
const openssl = await needProgram('openssl')
const [python, systemdNotify] = [await needProgram('python3'), await needProgram('systemd-notify')]

/** Makes a folder with a `systemctl` that asks the stand-in, and an `npm` that has installed already. */
const programsFor = async (folder: string, { systemctl }: StandIn): Promise<string> => {
  const door = join(folder, 'door')
  const server = createServer({ allowHalfOpen: true }, async (socket) => {
    const [text] = await once(socket.setEncoding('utf8'), 'data')
    const failed = await systemctl(...JSON.parse(text)).then(() => '', String)
    socket.end(failed)
  })
  await once(server.listen(door), 'listening')
  onTestFinished(() => void server.close())
  const script = `const socket = require('node:net').connect(${JSON.stringify(door)}, () => socket.write(JSON.stringify(process.argv.slice(2))))
socket.setEncoding('utf8').on('data', (failed) => { console.error(failed); process.exitCode = 1 })`
  const programs = join(folder, 'bin')
  mkdirSync(programs)
  writeFileSync(join(programs, 'systemctl'), `#!${process.execPath}\n${script}\n`, { mode: 0o755 })
  const install = `[ "$*" = 'ci --omit=dev' ] && ln -s ${join(root, 'node_modules')} node_modules`
  writeFileSync(join(programs, 'npm'), `#!/bin/sh\n${install}\n`, { mode: 0o755 })
  return programs
}

const missing = git.missing ?? openssl.missing ?? python.missing ?? systemdNotify.missing

describe.skipIf(missing)('the commands for systemd', () => {
  test('install a version, take another without losing a request, and go back', { timeout: 300_000 }, async () => {
    const folder = realpathSync(scratch({}))
    const [port, adminPort] = [await freePort(), await freePort()]
    const upstream = await openServer(0, onTestFinished)
    const site = (text: string): string =>
      text
        .replaceAll(/http:\/\/\w+\.internal:8080/g, upstream)
        .replace(/(port: |0\.0\.0\.0:)8080/, `$1${port}`)
        .replace('9901', `${adminPort}`)
        .replace('\nupstreams:', '\nshutdown: { wait: 500ms }\n\nupstreams:')
    makeRepository(join(folder, 'repository'), site)
    for (const each of ['opt', 'etc/systemd/system', 'usr/local/bin'])
      mkdirSync(join(folder, each), { recursive: true })
    const mapped = (text: string): string =>
      text
        .replaceAll(/(?<![\w.])\/(opt|etc|usr\/local)\//g, `${folder}/$1/`)
        .replaceAll('/usr/bin/node', process.execPath)
    const systemd = await standIn(folder, mapped, python.path ?? '')
    const programs = await programsFor(folder, systemd)
    const path = [programs, join(folder, 'usr/local/bin'), dirname(process.execPath), process.env.PATH].join(delimiter)
    const env = { ...process.env, PATH: path }
    const shell = (block = '') =>
      run('sh', ['-e', '-c', mapped(block).replace('REPOSITORY', join(folder, 'repository'))], { env, cwd: folder })
    const version = async (): Promise<string> => {
      const Authorization = `Bearer ${readFileSync(join(folder, 'etc/lender-gateway/admin-token'), 'utf8').trim()}`
      const response = await fetch(`http://127.0.0.1:${adminPort}/status`, { headers: { Authorization } })
      return ((await response.json()) as { readonly version: string }).version
    }
    const [install] = commandsBelow('docs/deploying.md', '## systemd')
    const [socket] = commandsBelow('docs/deploying.md', '### Restarts under systemd')
    const [upgrade] = commandsBelow('docs/upgrading.md', '### Forward under systemd')
    const [back] = commandsBelow('docs/upgrading.md', '### Back under systemd')

    await shell(install?.replace(/^version=0.2.0/m, 'version=0.1.0'))
    await expect.poll(version, { timeout: 30_000 }).toBe('0.1.0')
    await shell(socket)
    await expect.poll(version, { timeout: 30_000 }).toBe('0.1.0')
    const load = steadyLoad(port, onTestFinished, { fresh: 2, mayEnd: true })
    const { stdout } = await shell(upgrade)
    const upgraded = await version()
    await shell(back)
    const { failed, requests } = await load.stop()

    expect([upgraded, await version()]).toEqual(['0.2.0', '0.1.0'])
    expect(stdout).toMatch(/version +0\.1\.0,.*version +0\.2\.0,/s)
    expect(failed).toEqual([])
    expect(requests).toBeGreaterThan(20)
    expect(systemd.errors()).toBe('')
  })
})
