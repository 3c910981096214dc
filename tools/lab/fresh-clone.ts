/**
 * Runs the first two commands of README.md, as printed and with a real `npm ci`, in a fresh clone: with the pinned
 * Node, and with Node 20. Of the suite it runs one file, or all with `--all`. Not part of the suite: it installs the
 * packages four times.
 *
 * usage: npx node tools/lab/fresh-clone.ts [--all]     (the ports 8080 and 9901 must be free)
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findOlderNode, pinned } from '../../test/helpers/nodes.ts'
import { printed, root } from '../../test/helpers/printed.ts'

const [start = '', suite = ''] = printed
  .filter(({ page, text }) => page === 'README.md' && text.startsWith('npm ci && '))
  .map(({ text }) => text)
const asked = printed
  .filter(({ page, text }) => page === 'README.md' && text.startsWith('curl '))
  .map(({ text }) => text)
const limitMs = 300_000

/** Runs a command in the clone until it ends; throws when it fails. */
const run = async (command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<void> => {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${command}: exit code ${code}`)
}

/** Runs the command that serves, asks it what the page asks, and ends it by SIGTERM to npm. */
const serve = async (cwd: string, env: NodeJS.ProcessEnv): Promise<void> => {
  const child = spawn('sh', ['-c', start], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const ended = once(child, 'exit')
  try {
    for (const until = Date.now() + limitMs; Date.now() < until && child.exitCode === null; await pause(500))
      if ((await fetch('http://127.0.0.1:9901/ready').catch(() => null))?.ok === true) break
    for (const command of asked) await run(`${command} --fail --silent --output /dev/null`, cwd, env)
  } finally {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

const older = findOlderNode('npm')
if (older.missing !== null) console.warn(`skipped: ${older.missing}`)
for (const path of [pinned, ...(older.path === null ? [] : [older.path])]) {
  const folder = mkdtempSync(join(tmpdir(), 'fresh-clone-'))
  const env = { ...process.env, PATH: path.join(delimiter) }
  const version = execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim()
  try {
    execFileSync('git', ['clone', '--quiet', root, folder])
    await serve(folder, env)
    console.log(`${version}: ${start}: serves, and is ended`)
    const command = process.argv.includes('--all') ? suite : `${suite} -- test/core/lib/text.test.ts`
    await run(command, folder, env)
    console.log(`${version}: ${command}: good`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
older.remove()
