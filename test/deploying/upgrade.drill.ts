/**
 * The commands of docs/deploying.md and docs/upgrading.md, as printed, in a shell. Those for systemd: installed, with a
 * socket unit, upgraded under load, and back. Those for Kubernetes and Compose, with stand-ins for kubectl and docker.
 */
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../helpers/free-port.ts'
import { needProgram } from '../helpers/program.ts'
import { openServer, steadyLoad } from '../helpers/steady-load.ts'
import { blocksBelow, textsOf } from './documented-steps.ts'
import { kubernetesConfig, read, root, scratch } from './files.ts'
import { type StandIn, standIn } from './systemd-stand-in.ts'

const run = promisify(execFile)
const [git, openssl] = [await needProgram('git'), await needProgram('openssl')]
const [python, systemdNotify] = [await needProgram('python3'), await needProgram('systemd-notify')]

/** Takes the shell blocks of a page below a heading. */
const commandsBelow = (page: string, heading: string): readonly string[] => textsOf(blocksBelow(page, heading), 'sh')

/** Makes a repository with the versions 0.1.0 and 0.2.0 of these sources, on ports and an upstream of the test's. */
const makeRepository = (folder: string, site: (text: string) => string = (text) => text): void => {
  const config = 'config/examples/systemd'
  for (const path of ['src', 'config']) cpSync(join(root, path), join(folder, path), { recursive: true })
  for (const name of ['gateway.yaml', 'lender-gateway.socket'])
    writeFileSync(join(folder, config, name), site(read(`${config}/${name}`)))
  const shared = ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@test', '-c', 'init.defaultBranch=main']
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' } // no hooks and signatures of the machine's
  const ask = (...args: readonly string[]) => execFileSync(git.path ?? '', [...shared, ...args], { env, stdio: 'pipe' })
  ask('init')
  for (const version of ['0.1.0', '0.2.0']) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...JSON.parse(read('package.json')), version }))
    ask('add', '.')
    ask('commit', '--message', version)
    ask('tag', version)
  }
}

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
    const shell = (block = ''): Promise<{ readonly stdout: string }> =>
      run('sh', ['-e', '-c', mapped(block).replace('REPOSITORY', join(folder, 'repository'))], {
        env: { ...process.env, PATH: path },
        cwd: folder,
      })
    const version = async (): Promise<string> => {
      const Authorization = `Bearer ${readFileSync(join(folder, 'etc/lender-gateway/admin-token'), 'utf8').trim()}`
      const response = await fetch(`http://127.0.0.1:${adminPort}/status`, { headers: { Authorization } })
      return ((await response.json()) as { readonly version: string }).version
    }
    const [install] = commandsBelow('docs/deploying.md', '## systemd')
    const [socket] = commandsBelow('docs/deploying.md', '### Restarts under systemd')
    const [upgrade] = commandsBelow('docs/upgrading.md', '### Forward under systemd')
    const [back] = commandsBelow('docs/upgrading.md', '### Back under systemd')
    const [short] = commandsBelow('docs/upgrading.md', '# Upgrading, and going back')

    await shell(install)
    await expect.poll(version, { timeout: 30_000 }).toBe('0.1.0')
    await shell(socket)
    await expect.poll(version, { timeout: 30_000 }).toBe('0.1.0')
    const load = steadyLoad(port, onTestFinished, { fresh: 2, mayEnd: true })
    const { stdout } = await shell(upgrade)
    const upgraded = await version()
    await shell(back)
    const backAgain = await version()
    await shell(short)
    const { failed, requests } = await load.stop()

    expect([upgraded, backAgain, await version()]).toEqual(['0.2.0', '0.1.0', '0.2.0'])
    expect(stdout).toMatch(/version +0\.1\.0,.*version +0\.2\.0,/s)
    expect(failed).toEqual([])
    expect(requests).toBeGreaterThan(20)
    expect(systemd.errors()).toBe('')
  })
})

/**
 * Makes a folder with stand-ins for kubectl and docker, which note their arguments, and do what `extra` says of it.
 */
const standInsFor = (folder: string, extra: string): { readonly path: string; readonly noted: () => string } => {
  const [programs, notes] = [join(folder, 'bin'), join(folder, 'notes')]
  mkdirSync(programs)
  for (const name of ['kubectl', 'docker']) {
    const script = `#!/bin/sh\necho "${name} $*" >> ${notes}\ncase "${name} $*" in\n${extra}\nesac\n`
    writeFileSync(join(programs, name), script, { mode: 0o755 })
  }
  const path = [programs, dirname(process.execPath), process.env.PATH].join(delimiter)
  return { path, noted: () => readFileSync(notes, 'utf8') }
}

const page = 'docs/upgrading.md'

describe.skipIf(openssl.missing)('the commands for Kubernetes', () => {
  test('check the ConfigMap that runs with the new version, and roll out and back', { timeout: 60_000 }, async () => {
    const folder = realpathSync(scratch({ 'gateway.yaml': kubernetesConfig('production') }))
    const { path, noted } = standInsFor(
      folder,
      `"kubectl get configmap/"*) cat ${folder}/gateway.yaml ;;
      "kubectl get pods "*) echo pod/a pod/b ;;
      "docker run "*" check "*) exec node ${root}/src/main.ts check gateway/gateway.yaml ;;`,
    )
    const blocks = ['Forward', 'Back'].flatMap((way) => commandsBelow(page, `### ${way} in Kubernetes`))
    const shell = (block: string) =>
      run('sh', ['-e', '-c', block], { env: { ...process.env, PATH: path }, cwd: folder })

    const printed = []
    for (const block of blocks) printed.push((await shell(block)).stdout)

    expect(blocks).toHaveLength(3)
    expect(printed[0]).toMatch(/gateway\.yaml: good /)
    expect(noted()).toMatch(
      /kubectl exec pod\/b -- lender-gateway status\nkubectl rollout undo deployment\/lender-gateway\n/,
    )
  })
})

describe.skipIf(git.missing)('the commands for Compose', () => {
  test('keep an edited file over another version, and back', { timeout: 60_000 }, async () => {
    const folder = realpathSync(scratch({}))
    const [repository, checkout] = [join(folder, 'repository'), join(folder, 'checkout')]
    makeRepository(repository)
    await run(git.path ?? '', ['clone', '--quiet', '--branch', '0.1.0', repository, checkout])
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
    const file = join(checkout, 'config/examples/compose/gateway/gateway.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('http://market:', 'http://market-b:'))
    execFileSync(process.execPath, [
      join(root, 'config/examples/compose/tokens/make-tokens.mjs'),
      join(folder, 'tokens'),
    ])
    const { path, noted } = standInsFor(
      folder,
      `"docker compose run "*" check "*) TOKENS=${folder}/tokens exec node ${checkout}/src/main.ts check gateway/gateway.yaml ;;
      "docker compose up "*) grep -o '"version":"[0-9.]*"' ${checkout}/package.json ;;`,
    )
    const shell = (way: string) => {
      const [block = ''] = commandsBelow(page, `### ${way} with Compose`)
      const text = block.replace(/\bNEW\b/, '0.2.0').replace(/\bOLD\b/, '0.1.0')
      return run('sh', ['-e', '-c', text], { env: { ...process.env, PATH: path }, cwd: checkout })
    }

    const [forward, back] = [await shell('Forward'), await shell('Back')]

    expect(forward.stdout).toMatch(/gateway\.yaml: good .*"version":"0\.2\.0"/s)
    expect(back.stdout).toMatch(/gateway\.yaml: good .*"version":"0\.1\.0"/s)
    expect(readFileSync(file, 'utf8')).toContain('http://market-b:8080')
    expect(noted()).toContain('docker compose exec gateway-a lender-gateway status')
  })
})
