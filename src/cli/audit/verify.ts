import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { isUnread, readBounded } from '../../config/read.ts'
import { type Key, keyOf, type Read, readLine } from '../../observe/audit/chain.ts'
import { type Checkpoint, type Finding, Verification } from '../../observe/audit/verification.ts'
import { printable } from '../../shared/printable.ts'

interface Given {
  readonly keys: readonly string[]
  readonly checkpoints: readonly string[]
  readonly mixed: boolean
}

// The first ones tell where it began.
const maxFindings = 50

/** Is where it is printed: what was read, and what is wrong with it. */
interface Screen {
  out(text: string): void
  error(text: string): void
}

const screenOf = ({ stdout, stderr }: NodeJS.Process): Screen => ({
  out: (text) => void stdout.write(text),
  error: (text) => void stderr.write(text),
})

/** Verifies an audit log, prints what came of it, and resolves with the exit code. */
export const verify = async (
  files: readonly string[],
  { keys, checkpoints, mixed }: Given,
  screen: Screen = screenOf(process),
): Promise<number> => {
  try {
    const known = (await Promise.all(checkpoints.map(readCheckpoints))).flat()
    const verification = new Verification(keys.map(readKey), known, mixed)
    for (const file of mixed ? files : await inOrder(files)) {
      let line = 0
      for await (const { bytes, isEnded } of linesOf(createReadStream(file)))
        verification.take(bytes, { file, line: ++line }, isEnded)
    }
    verification.end()
    return tell(verification, known.length, screen)
  } catch (error) {
    screen.error(`lender-gateway: ${printable(error instanceof Error ? error.message : String(error))}\n`)
    return 2
  }
}

/** Puts files in the order of what they begin with, which is not that of their names: audit.log is the last. */
const inOrder = async (files: readonly string[]): Promise<readonly string[]> => {
  const begun = await Promise.all(files.map(async (file) => ({ file, first: await firstOf(file) })))
  const chains = new Set(begun.flatMap(({ first }) => first?.chain ?? []))
  if (chains.size > 1) return files // what is wrong is told as they were given
  const numberOf = ({ first }: { readonly first: Read | null }): number => first?.number ?? Number.MAX_SAFE_INTEGER
  return begun.sort((one, other) => numberOf(one) - numberOf(other)).map(({ file }) => file)
}

/** Reads the first line that is one: a crash may have left a piece of another before it, or nothing at all behind it. */
const firstOf = async (file: string): Promise<Read | null> => {
  for await (const { bytes } of linesOf(createReadStream(file))) {
    const read = readLine(bytes)
    if (read !== null) return read
  }
  return null
}

const tell = ({ findings, unkept, notes, chains }: Verification, checkpoints: number, screen: Screen): number => {
  for (const note of notes.slice(0, maxFindings)) screen.error(`note: ${shown(note)}\n`)
  for (const finding of findings.slice(0, maxFindings)) screen.error(`${shown(finding)}\n`)
  const more = findings.length + unkept - maxFindings
  if (more > 0) screen.error(`and ${more} more\n`)
  for (const { first, lines, last } of chains) {
    const which = `chain ${last.chain}: ${lines} lines, number ${first} to ${last.count}`
    screen.out(`${which}, checkpoint ${last.count}:${last.mac}\n`)
  }
  if (findings.length > 0) return 1
  // Whoever drops the oldest lines up to a start or a file leaves what is whole from there.
  const later = chains.filter(({ first }) => first > 1).map(({ first }) => `number ${first}`)
  const begin = later.length === 0 ? '' : `, from ${later.join(' and ')} on`
  const end = checkpoints === 0 ? '; whether its end was cut off only a --checkpoint tells' : ''
  screen.out(`all is as it was written${begin}${end}\n`)
  return 0
}

const shown = ({ file, line, message }: Finding): string =>
  printable(line === 0 ? message : `${file}:${line}: ${message}`)

const keyBytes = 64 * 1024

const readKey = (reference: string): Key => {
  const file = reference.replace(/^file:/, '')
  const read = readBounded(file, keyBytes)
  if (isUnread(read)) throw new Error(`the key ${file} cannot be read: ${read.reason}`)
  return keyOf(read.toString('utf8').replace(/\r?\n$/, ''))
}

/** Reads a checkpoint as it is written on a command line, or all that a log tells. */
const readCheckpoints = async (given: string): Promise<readonly Checkpoint[]> => {
  const [, count, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(given) ?? []
  if (count !== undefined && hash !== undefined) return [{ chain: null, count: Number(count), hash }]
  const found: Checkpoint[] = []
  for await (const { bytes } of linesOf(createReadStream(given))) {
    const checkpoint = bytes.includes('"audit checkpoint"') ? checkpointIn(bytes.toString('utf8')) : null
    if (checkpoint !== null) found.push(checkpoint)
  }
  if (found.length === 0) throw new Error(`${given} holds no line "audit checkpoint"`)
  return found
}

const checkpointIn = (line: string): Checkpoint | null => {
  try {
    const { msg, chain, count, hash } = JSON.parse(line)
    const isOne = msg === 'audit checkpoint' && typeof chain === 'string' && typeof hash === 'string'
    return isOne && Number.isSafeInteger(count) ? { chain, count, hash } : null
  } catch {
    return null
  }
}

const newline = 10

// No line of either log is nearly as long: what has no end is judged in pieces, and kept in none.
const longestLine = 1024 * 1024

/** Splits what is read into lines, without their ends; the last one may have none. */
async function* linesOf(from: Readable): AsyncGenerator<{ readonly bytes: Buffer; readonly isEnded: boolean }, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of from) {
    const read = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    let at = 0
    for (let end = read.indexOf(newline); end !== -1; end = read.indexOf(newline, at)) {
      yield { bytes: read.subarray(at, end), isEnded: true }
      at = end + 1
    }
    rest = read.subarray(at)
    if (rest.length <= longestLine) continue
    yield { bytes: rest, isEnded: false }
    rest = Buffer.alloc(0)
  }
  if (rest.length > 0) yield { bytes: rest, isEnded: false }
}
