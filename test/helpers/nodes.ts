/** The PATHs that commands are run with: by the Node that is pinned, and by an older one. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { root } from './printed.ts'

// Without the folders that npm has put in front of it for the test itself.
const own = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))

/** The PATH with the pinned Node in front. */
export const pinned: readonly string[] = [join(root, 'node_modules/.bin'), ...own]

export interface OlderNode {
  /** Null: there is none, and `missing` says why. */
  readonly path: readonly string[] | null
  readonly missing: string | null
  remove(): void
}

/** Finds Node 20 or older: the machine's own, or that of the npm package `node`, which is installed for it. */
export const findOlderNode = (npm: string): OlderNode => {
  if (isOlder(own)) return { path: own, missing: null, remove: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'older-node-'))
  const remove = (): void => rmSync(folder, { recursive: true })
  const path = [join(folder, 'node_modules/.bin'), ...own]
  try {
    const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, 'node@20']
    execFileSync(npm, args, {
      cwd: folder,
      env: { ...process.env, PATH: pinned.join(delimiter) },
      stdio: 'pipe',
      timeout: 120_000,
    })
  } catch {} // offline, perhaps
  if (isOlder(path)) return { path, missing: null, remove }
  remove()
  return {
    path: null,
    missing: 'Node 20 is missing: it is not the machine’s own, and npm cannot install it',
    remove: () => {},
  }
}

const isOlder = (path: readonly string[]): boolean => {
  try {
    const version = execFileSync('node', ['--version'], { env: { PATH: path.join(delimiter) }, encoding: 'utf8' })
    return Number(/^v(\d+)/.exec(version)?.[1]) <= 20
  } catch {
    return false // there is none
  }
}
