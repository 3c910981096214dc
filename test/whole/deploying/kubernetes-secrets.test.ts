/**
 * The commands of docs/deploying.md that make the Secrets of the overlay `production`, as printed, with a stand-in for
 * kubectl. A real Redis with the arguments of the manifest takes its Secret, and the configuration takes the others.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { checkRedis } from '../../../src/features/redis/check-redis.ts'
import { needProgram } from '../../helpers/program.ts'
import { startRedis } from '../../helpers/redis.ts'
import { secretsBeside } from './configurations.ts'
import { at, kubernetesConfig, manifestOf, read, scratch } from './files.ts'

const [redisServer, openssl] = [await needProgram('redis-server'), await needProgram('openssl')]

/** Puts what a Secret is made of into a folder `secrets`, and does nothing else. */
const kubectl = `#!/bin/sh
for word in "$@"; do
  case "$word" in
    --from-literal=*) pair="\${word#--from-literal=}"; printf %s "\${pair#*=}" > "secrets/\${pair%%=*}" ;;
    --from-file=*) cp "\${word#--from-file=}" secrets/ ;;
  esac
done
`

describe.skipIf(redisServer.missing ?? openssl.missing)('the Secrets of production', () => {
  test('let the gateways use Redis, each use as a user of its own', async () => {
    const folder = scratch({ 'gateway.yaml': '' })
    for (const name of ['bin', 'secrets', 'data']) mkdirSync(join(folder, name))
    writeFileSync(join(folder, 'bin/kubectl'), kubectl, { mode: 0o755 })
    const [, below = ''] = read('docs/deploying.md').split('\n## Kubernetes\n')
    const block =
      [...below.matchAll(/^```sh\n(.*?)^```$/gms)].find(([, text]) => text?.includes('users.acl'))?.[1] ?? ''
    const env = { ...process.env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) }
    execFileSync('sh', ['-e', '-c', block], { cwd: folder, env })

    const args = at(manifestOf('StatefulSet'), 'spec', 'template', 'spec', 'containers', 0, 'args') as readonly string[]
    const placed = args.map((arg) =>
      arg.replace('/etc/redis', join(folder, 'secrets')).replace(/^\/data$/, join(folder, 'data')),
    )
    const redis = await startRedis(redisServer.path ?? '', placed)
    onTestFinished(() => redis.kill())
    const file = join(folder, 'secrets/gateway.yaml')
    writeFileSync(file, kubernetesConfig('production').replaceAll('redis://lender-redis:6379', redis.url))
    const loaded = loadConfig(file, {})
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))

    expect(readdirSync(join(folder, 'secrets')).sort()).toEqual(
      [...Object.keys(secretsBeside), 'users.acl', 'gateway.yaml'].sort(),
    )
    // It waits for 2 s, in which a machine under load may not respond.
    await expect.poll(() => checkRedis(loaded.config, (path) => ({ file, line: 1, column: 1, path }))).toEqual([])
  })
})
