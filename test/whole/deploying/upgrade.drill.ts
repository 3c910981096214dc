/**
 * The commands of docs/upgrading.md for Kubernetes and Compose, as printed, in a shell, with stand-ins for kubectl and
 * docker.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { needProgram } from '../../helpers/program.ts'
import { kubernetesConfig, root, scratch } from './files.ts'
import { commandsBelow, git, makeRepository } from './repository.ts'

const run = promisify(execFile)
const openssl = await needProgram('openssl')

/** Makes a shell with stand-ins for kubectl and docker, which note their arguments, and do what `extra` says of it. */
const standInsFor = (folder: string, extra: string, cwd = folder) => {
  const [programs, notes] = [join(folder, 'bin'), join(folder, 'notes')]
  mkdirSync(programs)
  for (const name of ['kubectl', 'docker']) {
    const script = `#!/bin/sh\necho "${name} $*" >> ${notes}\ncase "${name} $*" in\n${extra}\nesac\n`
    writeFileSync(join(programs, name), script, { mode: 0o755 })
  }
  const PATH = [programs, dirname(process.execPath), process.env.PATH].join(delimiter)
  const shell = (block: string) => run('sh', ['-e', '-c', block], { env: { ...process.env, PATH }, cwd })
  return { shell, noted: () => readFileSync(notes, 'utf8') }
}

const page = 'docs/upgrading.md'

describe.skipIf(openssl.missing)('the commands for Kubernetes', () => {
  test('check the ConfigMap that runs with the new version, and roll out and back', { timeout: 60_000 }, async () => {
    const folder = realpathSync(scratch({ 'gateway.yaml': kubernetesConfig('production') }))
    const { shell, noted } = standInsFor(
      folder,
      `"kubectl get configmap/"*) cat ${folder}/gateway.yaml ;;
      "kubectl get pods "*) echo pod/a pod/b ;;
      "docker run "*" check "*) exec node ${root}/src/lender-gateway.js check gateway/gateway.yaml ;;`,
    )
    const blocks = ['Forward', 'Back'].flatMap((way) => commandsBelow(page, `### ${way} in Kubernetes`))

    const printed = []
    for (const block of blocks) printed.push((await shell(block)).stdout)

    expect(blocks).toHaveLength(3)
    expect(printed[0]).toMatch(/gateway\.yaml: good /)
    expect(noted()).toContain(
      'kubectl exec pod/b -- lender-gateway status\nkubectl rollout undo deployment/lender-gateway\n',
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
    const makeTokens = join(root, 'config/examples/compose/tokens/make-tokens.mjs')
    execFileSync(process.execPath, [makeTokens, join(folder, 'tokens')])
    const { shell, noted } = standInsFor(
      folder,
      `"docker compose run "*" check "*) TOKENS=${folder}/tokens exec node ${checkout}/src/lender-gateway.js check gateway/gateway.yaml ;;
      "docker compose up "*) grep -o '"version":"[0-9.]*"' ${checkout}/package.json ;;`,
      checkout,
    )
    const go = (way: string) => {
      const [block = ''] = commandsBelow(page, `### ${way} with Compose`)
      return shell(block.replace(/\bNEW\b/, '0.2.0').replace(/\bOLD\b/, '0.1.0'))
    }

    const [forward, back] = [await go('Forward'), await go('Back')]

    expect(forward.stdout).toMatch(/gateway\.yaml: good .*"version":"0\.2\.0"/s)
    expect(back.stdout).toMatch(/gateway\.yaml: good .*"version":"0\.1\.0"/s)
    expect(readFileSync(file, 'utf8')).toContain('http://market-b:8080')
    expect(noted()).toContain('docker compose exec gateway-a lender-gateway status')
  })
})
