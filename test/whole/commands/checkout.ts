/** A checkout in which the commands that are printed run, on ports, names and folders of the test's. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'vitest'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { root } from '../../helpers/printed.ts'

export interface Checkout {
  readonly folder: string
  /** Its configuration file, which commands find by themselves. */
  readonly file: string
  /**
   * A folder whose `lender-gateway` and `npx` run the gateway's command at once, in a process that has loaded it: in a
   * PATH before that of npm, which takes two seconds.
   */
  readonly quick: string
  /** Runs a command as a shell does; returns all that it printed and its exit code. */
  run(text: string, path: readonly string[]): Promise<{ readonly output: string; readonly code: number | null }>
  /**
   * Runs one that does not end, until it has printed what is expected; then ends all that it has started, as a terminal
   * that is closed does.
   */
  until(text: string, path: readonly string[], says: RegExp): Promise<void>
  remove(): void
}

/** Makes one with the packages that are there already; `npm` is the real one, but for `npm ci`. */
export const makeCheckout = (npm: string, mapped: (text: string, folder: string) => string): Checkout => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'checkout-')))
  for (const name of ['src', 'scripts', 'node_modules']) symlinkSync(join(root, name), join(folder, name))
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  for (const name of ['config', 'bin', 'quick', 'home']) mkdirSync(join(folder, name))
  // tools/lab/fresh-clone.ts has `npm ci` run.
  writeFileSync(join(folder, 'bin/npm'), `#!/bin/sh\n[ "$1" = ci ] || exec ${npm} "$@"\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'quick/lender-gateway'), quickly, { mode: 0o755 })
  writeFileSync(join(folder, 'quick/npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 })
  const door = openDoor(folder)
  // Without it curl is content with a response of 404.
  writeFileSync(join(folder, 'home/.curlrc'), 'fail\nsilent\nshow-error\n')

  const { NODE_COMPILE_CACHE } = process.env
  const start = (text: string, path: readonly string[]) => {
    const PATH = [join(folder, 'bin'), ...path].join(delimiter)
    const child = spawn('sh', ['-c', mapped(text, folder)], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { HOME: join(folder, 'home'), PATH, TZ: 'UTC', LANG: 'C.UTF-8', NODE_COMPILE_CACHE },
      detached: true, // a group of its own
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (more: string) => {
        output += more
      })
    const closed = once(child, 'close').then(([code]) => code as number | null)
    return { child, output: () => output, closed }
  }

  return {
    folder,
    quick: join(folder, 'quick'),
    file: join(folder, 'config/gateway.yaml'),
    async run(text, path) {
      const { output, closed } = start(text, path)
      const code = await closed
      return { output: output(), code }
    },
    async until(text, path, says) {
      const { child, output, closed } = start(text, path)
      try {
        await expect.poll(output, { timeout: 30_000 }).toMatch(says)
      } finally {
        endGroup(child)
        await closed // not before the last of the group has ended
      }
    },
    remove() {
      door.close()
      rmSync(folder, { recursive: true })
    },
  }
}

// `tail` does not end by itself: it has a process of its own.
const quickly = `#!/bin/sh
[ "$1" = tail ] && exec src/lender-gateway.js "$@"
said=$(mktemp -d said-XXXXXX)
printf '%s\\0' "$@" | curl -q -sS --unix-socket door --data-binary @- "http://door/$said"
cat "$said/out"
cat "$said/err" >&2
exit "$(cat "$said/code")"
`

/** Runs the commands that {@link quickly} asks for; the path is where it reads what they have said. */
const openDoor = (folder: string) =>
  createServer(async (request, response) => {
    const args = (await buffer(request)).toString().split('\0').slice(0, -1)
    const environment = { HOME: join(folder, 'home'), TZ: 'UTC', LANG: 'C.UTF-8' }
    const failed = (error: unknown) => ({ code: 70, out: '', err: `${error}` })
    const said = await runCommand(args, environment, { cwd: folder }).catch(failed)
    for (const [name, text] of Object.entries(said)) writeFileSync(join(folder, request.url ?? '', name), String(text))
    response.end()
  }).listen(join(folder, 'door'))

const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM')
  } catch {} // it has ended already
}
