/** Node's compile cache: kept for the next start, and never needed for one. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
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

const sayFolder = 'import m from "node:module"; process.once("exit", () => console.log(m.getCompileCacheDir()))'

const compileCacheFolder = (environment: NodeJS.ProcessEnv): string => {
  const args = ['--import', `data:text/javascript,${sayFolder}`, 'src/main.ts', '--version']
  const { NODE_COMPILE_CACHE, ...env } = process.env
  return (
    execFileSync(process.execPath, args, { env: { ...env, ...environment }, encoding: 'utf8' })
      .split('\n')
      .at(-2) ?? ''
  )
}

test('the compile cache is kept beside the packages', () => {
  expect(dirname(compileCacheFolder({}))).toBe(resolve('node_modules/.cache/lender-gateway'))
})

test('it is kept in the folder that the environment names', () => {
  const folder = makeFolder()
  expect(dirname(compileCacheFolder({ NODE_COMPILE_CACHE: folder }))).toBe(folder)
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
