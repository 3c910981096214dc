import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, rename, unlink } from 'node:fs/promises'
import { isatty } from 'node:tty'
import { strToU8, zipSync } from 'fflate'
import { wallClock } from '../../../clock.ts'
import { version } from '../../../version.ts'
import { type AskOptions, findGateway } from '../find.ts'
import { noteDoubt } from '../print.ts'
import { table } from '../table.ts'
import { unasked, urlOf } from '../target.ts'
import { type Part, partsOf } from './parts.ts'

/** What the command is given. */
export interface BundleOptions extends AskOptions {
  readonly output?: string
  readonly force?: true
  readonly addresses?: true
}

/** Writes what is known of a gateway into one archive and prints what is in it; resolves to the exit code. */
export const bundle = async ({ format, output, force, addresses, ...where }: BundleOptions): Promise<number> => {
  const at = new Date(wallClock())
  const put = place(output ?? nameAt(at), force === true)
  const target = await findGateway(where)
  const parts = await partsOf(target, where.config, addresses === true)
  noteDoubt(target)
  const told = manifest(parts, { at, url: urlOf(target), addresses: addresses === true })
  const bytes = archive([...parts, { name: 'MANIFEST.txt', text: told }], at)
  await put.write(bytes).catch((error: NodeJS.ErrnoException) => {
    throw unasked(
      error.code === 'EEXIST'
        ? `${put.name} is there already: --force overwrites it`
        : `${put.name} cannot be written (${error.code ?? error.message})`,
    )
  })

  const missing = parts.filter(({ error }) => error !== null)
  for (const [error, same] of Map.groupBy(missing, (part) => part.error)) {
    const names = same.map(({ name }) => name).join(', ')
    process.stderr.write(`lender-gateway: ${names} ${same.length === 1 ? 'is' : 'are'} missing: ${error}\n`)
  }
  if (put.isFile) process.stdout.write(format === 'json' ? json(put.name, bytes, parts) : text(put.name, bytes, parts))
  return missing.length === 0 ? 0 : 1
}

const nameAt = (at: Date): string => `lender-gateway-bundle-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.zip`

const text = (name: string, { length }: Uint8Array, parts: readonly Part[]): string =>
  `${name}: ${parts.filter((part) => part.text !== null).length} parts, ${Math.ceil(length / 1024)} KiB\n`

const json = (file: string, { length }: Uint8Array, parts: readonly Part[]): string => {
  const told = parts.map((part) => ({ name: part.name, error: part.error, absent: part.absent }))
  return `${JSON.stringify({ file, bytes: length, parts: told }, null, 2)}\n`
}

interface Made {
  readonly at: Date
  readonly url: string
  readonly addresses: boolean
}

/** Writes what is in the archive, and why what is missing is not. */
const manifest = (parts: readonly Part[], { at, url, addresses }: Made): string => {
  const facts = [
    ['made', `${at.toISOString()} by lender-gateway ${version()}`],
    ['of', url],
    ['secrets', 'none: *** stands for each, and their digests are left out'],
    ['addresses', addresses ? 'of clients in full: --addresses' : 'of clients cut to their network, /24 or /48'],
  ]
  const rows = parts.map(({ name, what, text, error, absent }) => {
    if (text !== null) return [name, what, `${Buffer.byteLength(text)} bytes`, `sha256:${digest(text)}`]
    return [name, what, absent ? 'none' : 'MISSING', absent ? 'the gateway has none: older, or off' : `${error}`]
  })
  return `${table(facts)}\n\n${table(rows)}\n`
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Packs texts into a zip, which opens everywhere without a tool; Node packs gzip only, and that holds one file. Those that are not there are
 * left out.
 */
const archive = (
  files: readonly { readonly name: string; readonly text: string | null }[],
  at: Date,
): Uint8Array<ArrayBuffer> => {
  const packed = files.flatMap(({ name, text }) => (text === null ? [] : [[name, strToU8(text)] as const]))
  return zipSync(Object.fromEntries(packed), { mtime: at })
}

/** Is where an archive goes. */
export interface ArchivePlace {
  readonly name: string
  readonly isFile: boolean
  /** Writes all of it, or leaves nothing. Rejects as the file system does. */
  write(bytes: Uint8Array): Promise<void>
}

/** Finds where an archive goes: a file for its owner alone, or stdout (`-`). Throws {@link unasked} when that is a terminal. */
export const place = (output: string, force: boolean): ArchivePlace => {
  if (output !== '-')
    return { name: output, isFile: true, write: (bytes) => (force ? replace(output, bytes) : create(output, bytes)) }
  if (isatty(1)) throw unasked('stdout is a terminal, and an archive is not to be read there: --output FILE')
  return { name: 'stdout', isFile: false, write: toStdout }
}

/** Writes a file that was not there: a link that somebody has put in its place is not followed. */
const create = async (file: string, bytes: Uint8Array): Promise<void> => {
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.writeFile(bytes)
  } catch (error) {
    await unlink(file)
    throw error
  } finally {
    await handle.close()
  }
}

/** Writes beside it first: what is there stays whole until there is something better, and its mode is not taken over. */
const replace = async (file: string, bytes: Uint8Array): Promise<void> => {
  const beside = `${file}.${randomBytes(6).toString('hex')}`
  await create(beside, bytes)
  await rename(beside, file).catch(async (error) => {
    await unlink(beside)
    throw error
  })
}

const toStdout = async (bytes: Uint8Array): Promise<void> => {
  const failed = once(process.stdout, 'error').then(([error]) => {
    throw error
  })
  const written = new Promise<void>((resolve) => void process.stdout.write(bytes, () => resolve()))
  await Promise.race([failed, written])
}
