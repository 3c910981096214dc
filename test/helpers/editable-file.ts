/** The ways in which a configuration file comes to say something else. */
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Does something when a test has finished: the test's own `onTestFinished`, since tests run beside each other here. */
export type OnTestEnd = (work: () => void | Promise<void>) => void

/** A file that can be edited in one way. It is not there before it is first written. */
export interface EditableFile {
  /** Its name in the figures. */
  readonly name: string
  /** The file that the gateway is started on. */
  readonly file: string
  /** What runs the gateway, with its arguments, and becomes it; empty: nothing does. */
  readonly commandPrefix: readonly string[]
  write(text: string): void
}

const folder = (onEnd: OnTestEnd): string => {
  const made = mkdtempSync(join(tmpdir(), 'way-'))
  onEnd(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Writes the file itself. */
export const fileWrittenInPlace = (onEnd: OnTestEnd): EditableFile => {
  const file = join(folder(onEnd), 'gateway.yaml')
  return { name: 'in place', file, commandPrefix: [], write: (text) => writeFileSync(file, text) }
}

/** Writes another file and renames it over the first, as editors and configuration management do. */
export const fileReplacedByRename = (onEnd: OnTestEnd): EditableFile => {
  const file = join(folder(onEnd), 'gateway.yaml')
  const write = (text: string): void => {
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
  }
  return { name: 'renamed', file, commandPrefix: [], write }
}

/**
 * Does what a kubelet does with a ConfigMap: a new folder, a link to it renamed over `..data`, the old folder removed.
 */
export const fileSwappedBySymlink = (onEnd: OnTestEnd): EditableFile => {
  const mount = folder(onEnd)
  const file = join(mount, 'gateway.yaml')
  let revision = 0
  const write = (text: string): void => {
    const made = `..2026_${++revision}`
    mkdirSync(join(mount, made))
    writeFileSync(join(mount, made, 'gateway.yaml'), text)
    symlinkSync(made, join(mount, '..data_tmp'))
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'))
    if (revision === 1) symlinkSync('..data/gateway.yaml', file)
    else rmSync(join(mount, `..2026_${revision - 1}`), { recursive: true })
  }
  return { name: 'symlink swap', file, commandPrefix: [], write }
}

/**
 * Writes a file that is bind-mounted by itself over the gateway's, in a mount namespace of the gateway's own. Where
 * that is not permitted, both are names of one file: that tells a watcher of the folder as little.
 */
export const fileBindMounted = (onEnd: OnTestEnd): EditableFile => {
  const [outside, inside] = [join(folder(onEnd), 'gateway.yaml'), join(folder(onEnd), 'gateway.yaml')]
  const write = (text: string): void => writeFileSync(outside, text)
  write('')
  const namespace = mountNamespace(onEnd)
  if (namespace === null) {
    linkSync(outside, inside)
    return { name: 'hard link in place of a bind mount', file: inside, commandPrefix: [], write }
  }
  writeFileSync(inside, '')
  return { name: 'bind mount', file: inside, commandPrefix: [...namespace, outside, inside], write }
}

const mountAndRun = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'

/**
 * Finds out how to run a command in a mount namespace of its own: followed by what is mounted, where, and the command;
 * null: not here.
 */
const mountNamespace = (onEnd: OnTestEnd): readonly string[] | null => {
  const file = join(folder(onEnd), 'probe')
  writeFileSync(file, '')
  const ways = [['--mount'], ['--map-root-user', '--mount']].map((options) => [
    'unshare',
    ...options,
    ...['sh', '-c', mountAndRun, 'sh'],
  ])
  return ways.find((way) => succeeds([...way, file, file, 'true'])) ?? null
}

const succeeds = ([command = '', ...args]: readonly string[]): boolean => {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
