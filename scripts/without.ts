/**
 * Shows that features can be left out: `node scripts/without.ts FEATURE… [-- TEST…]`; FEATURE `all`: every one. In a copy
 * of the work tree it takes away the folder of each in src/features and test/features and its line in the list, of those
 * too that need it, and what wants all features (test/whole; the types and tests of tools). Then types and style are
 * checked, the tests are run (those that TEST names, else all), and the nine are asked for, here, in a process that cannot
 * load what is left out. Ends with 1 at the first that fails.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { features } from '../src/features/index.ts'
import { allOperations } from '../src/operations.ts'
import { list, withoutLines } from './leave-out.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export const featureNames: readonly string[] = features.map(({ name }) => name)

/** Lists features and those that need them, by however many others. */
export const withDependents = (names: readonly string[]): readonly string[] => {
  const found = new Set(names)
  for (const each of found) for (const { name, needs } of features) if (needs?.includes(each)) found.add(name)
  return [...found]
}

/** What wants all features. */
const ofAll = /^test\/whole\/|^tools\/.*\.test\.ts$|^scripts\/manifests\.ts$/

/** Makes a copy of the work tree without some features, and returns its folder. */
export const copyWithout = async (names: readonly string[]): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'without-'))
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate'], {
    cwd: root,
    encoding: 'utf8',
  })
  const isLeftOut = (file: string): boolean =>
    ofAll.test(file) ||
    names.some((name) => file.startsWith(`src/features/${name}/`) || file.startsWith(`test/features/${name}/`))
  const kept = files.split('\n').filter((file) => file !== '' && !isLeftOut(file))
  await promisify(execFile)('cp', ['--parents', '--target-directory', folder, ...kept], { cwd: root })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const replace = (file: string, edit: (text: string) => string): void =>
    writeFileSync(join(folder, file), edit(readFileSync(join(root, file), 'utf8')))
  replace(list, (text) => withoutLines(text, names))
  replace('tsconfig.json', (text) => text.replace(' "tools",', ''))
  return folder
}

/** Starts the gateway without some features, with an upstream that takes everything; returns the statuses of the nine. */
export const askTheNine = async (names: readonly string[]): Promise<readonly number[]> => {
  const upstream = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port } = upstream.address() as AddressInfo
  const upstreams = Object.fromEntries(allOperations.map(({ group }) => [group, `http://127.0.0.1:${port}`]))
  const folder = mkdtempSync(join(tmpdir(), 'nine-'))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, JSON.stringify({ listen: { port: 0 }, admin: { port: 0 }, upstreams, shutdown: { wait: '0s' } }))
  const gateway = spawn(process.execPath, ['src/lender-gateway.js', 'serve', '--config', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '--import ./scripts/leave-out.ts', LEFT_OUT: names.join(',') },
  })
  const exited = once(gateway, 'exit')
  try {
    for await (const line of createInterface(gateway.stdout)) {
      const { msg, port } = JSON.parse(line)
      if (msg !== 'listening') continue
      const url = `http://127.0.0.1:${port}`
      return await Promise.all(
        allOperations.map(async ({ method, path }) => (await fetch(url + path, { method })).status),
      )
    }
    throw new Error('the gateway did not start')
  } finally {
    gateway.kill()
    await exited
    upstream.close()
    rmSync(folder, { recursive: true })
  }
}

const run = (folder: string, ...words: readonly string[]): void => {
  const { status } = spawnSync('npx', words, { cwd: folder, stdio: 'inherit', env: { ...process.env, CI: 'true' } })
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}`)
}

const main = async (words: readonly string[]): Promise<void> => {
  const at = words.indexOf('--')
  const [given, tests] = at < 0 ? [words, []] : [words.slice(0, at), words.slice(at + 1)]
  if (given.length === 0) throw new Error('FEATURE… is expected; all: every one')
  const names = withDependents(given.includes('all') ? featureNames : given)
  const folder = await copyWithout(names)
  try {
    run(folder, 'tsc', '--noEmit')
    run(folder, 'biome', 'check', '--write', dirname(list))
    run(folder, 'biome', 'check', '--error-on-warnings')
    run(folder, 'vitest', 'run', '--project', 'shared', '--project', 'alone', ...tests)
    const statuses = await askTheNine(names)
    if (statuses.some((status) => status !== 200)) throw new Error(`the nine respond with ${statuses.join(', ')}`)
    const lines = execFileSync('sh', ['-c', 'find src -type f -print0 | xargs -0 cat | wc -l'], {
      cwd: folder,
      encoding: 'utf8',
    })
    console.log(
      `without ${names.join(', ')}: types, style and tests are good, the nine are served; ${lines.trim()} lines of src`,
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main)
  await main(process.argv.slice(2)).catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
