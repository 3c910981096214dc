/** Node's compile cache: kept for the next start, and never needed for one. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { configText } from '../../helpers/gateway.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { drill, test } from '../../helpers/speed.ts'

const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'compile-cache-'))
  writeFileSync(join(folder, 'gateway.yaml'), configText())
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Runs what `npm start` runs, with a `node` that prints the folder of its compile cache. */
const compileCacheFolder = (environment: Readonly<Record<string, string>>): string => {
  const bin = makeFolder()
  writeFileSync(join(bin, 'node'), '#!/bin/sh\necho "$NODE_COMPILE_CACHE"\n')
  chmodSync(join(bin, 'node'), 0o755)
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  const env = { PATH: [bin, '/usr/bin', '/bin'].join(delimiter), ...environment }
  return execFileSync('sh', ['-c', scripts.start], { env, encoding: 'utf8' }).trim().split('\n').at(-1) ?? ''
}

// A user who can write there can write the packages that run. In a folder for all, /tmp, an attacker could run any
// code.
test('npm start keeps the compile cache beside the packages', () => {
  expect(compileCacheFolder({})).toBe('node_modules/.cache/lender-gateway')
})

test('npm start keeps it in the folder that the environment names', () => {
  expect(compileCacheFolder({ NODE_COMPILE_CACHE: '/var/cache/gateway' })).toBe('/var/cache/gateway')
})

drill('a gateway serves without a writable folder', async () => {
  const file = join(makeFolder(), 'gateway.yaml')
  const served = serve(file, { NODE_COMPILE_CACHE: join(file, 'below-a-file') })

  expect(await waitForListening(served)).toBeGreaterThan(0)
})

drill('two gateways that start with the same empty folder at once both serve', async () => {
  const folder = makeFolder()
  const [file, env] = [join(folder, 'gateway.yaml'), { NODE_COMPILE_CACHE: join(folder, 'kept') }]

  const ports = await Promise.all([serve(file, env), serve(file, env)].map(waitForListening))

  expect(new Set(ports).size).toBe(2)
})
