import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { isReadError, readFileWithLimit } from '../../config/load/read-file.ts'
import { type AuditKey, type ParsedAuditLine, parseAuditLine, toAuditKey } from '../../observe/audit/chain.ts'
import { type AuditFinding, ChainVerifier, type Checkpoint } from '../../observe/audit/chain-verifier.ts'
import { escapeControls } from '../../shared/escape-controls.ts'

interface AuditVerifyInputs {
  readonly keys: readonly string[]
  readonly checkpoints: readonly string[]
  readonly mixed: boolean
}

// The first ones tell where it began.
const maxFindings = 50

/** Is where it is printed: what was read, and what is wrong with it. */
interface VerifyOutput {
  out(text: string): void
  error(text: string): void
}

const processOutput = ({ stdout, stderr }: NodeJS.Process): VerifyOutput => ({
  out: (text) => void stdout.write(text),
  error: (text) => void stderr.write(text),
})

/** Verifies an audit log, prints what came of it, and resolves with the exit code. */
export const verifyAuditLog = async (
  files: readonly string[],
  { keys, checkpoints, mixed }: AuditVerifyInputs,
  output: VerifyOutput = processOutput(process),
): Promise<number> => {
  try {
    const known = (await Promise.all(checkpoints.map(readCheckpoints))).flat()
    const verification = new ChainVerifier(keys.map(readKey), known, mixed)
    for (const file of mixed ? files : await sortByFirstRecord(files)) {
      let line = 0
      for await (const { bytes, isEnded } of splitLines(createReadStream(file)))
        verification.verifyLine(bytes, { file, line: ++line }, isEnded)
    }
    verification.finish()
    return printResult(verification, known.length, output)
  } catch (error) {
    output.error(`lender-gateway: ${escapeControls(error instanceof Error ? error.message : String(error))}\n`)
    return 2
  }
}

/** Puts files in the order of what they begin with, which is not that of their names: audit.log is the last. */
const sortByFirstRecord = async (files: readonly string[]): Promise<readonly string[]> => {
  const begun = await Promise.all(files.map(async (file) => ({ file, first: await readFirstRecord(file) })))
  const chains = new Set(begun.flatMap(({ first }) => first?.chain ?? []))
  if (chains.size > 1) return files // what is wrong is told as they were given
  const numberOf = ({ first }: { readonly first: ParsedAuditLine | null }): number =>
    first?.number ?? Number.MAX_SAFE_INTEGER
  return begun.sort((one, other) => numberOf(one) - numberOf(other)).map(({ file }) => file)
}

/** Reads the first line that is one: a crash may have left a piece of another before it, or nothing at all behind it. */
const readFirstRecord = async (file: string): Promise<ParsedAuditLine | null> => {
  for await (const { bytes } of splitLines(createReadStream(file))) {
    const read = parseAuditLine(bytes)
    if (read !== null) return read
  }
  return null
}

const printResult = (
  { findings, omittedFindings, notes, chains }: ChainVerifier,
  checkpoints: number,
  output: VerifyOutput,
): number => {
  for (const note of notes.slice(0, maxFindings)) output.error(`note: ${formatFinding(note)}\n`)
  for (const finding of findings.slice(0, maxFindings)) output.error(`${formatFinding(finding)}\n`)
  const more = findings.length + omittedFindings - maxFindings
  if (more > 0) output.error(`and ${more} more\n`)
  for (const { first, lines, last } of chains) {
    const which = `chain ${last.chain}: ${lines} lines, number ${first} to ${last.count}`
    output.out(`${which}, checkpoint ${last.count}:${last.mac}\n`)
  }
  if (findings.length > 0) return 1
  // Whoever drops the oldest lines up to a start or a file leaves what is whole from there.
  const later = chains.filter(({ first }) => first > 1).map(({ first }) => `number ${first}`)
  const begin = later.length === 0 ? '' : `, from ${later.join(' and ')} on`
  const end = checkpoints === 0 ? '; whether its end was cut off only a --checkpoint tells' : ''
  output.out(`all is as it was written${begin}${end}\n`)
  return 0
}

const formatFinding = ({ file, line, message }: AuditFinding): string =>
  escapeControls(line === 0 ? message : `${file}:${line}: ${message}`)

const maxKeyBytes = 64 * 1024

const readKey = (reference: string): AuditKey => {
  const file = reference.replace(/^file:/, '')
  const read = readFileWithLimit(file, maxKeyBytes)
  if (isReadError(read)) throw new Error(`the key ${file} cannot be read: ${read.reason}`)
  return toAuditKey(read.toString('utf8').replace(/\r?\n$/, ''))
}

/** Reads a checkpoint as it is written on a command line, or all that a log tells. */
const readCheckpoints = async (checkpointOrFile: string): Promise<readonly Checkpoint[]> => {
  const [, count, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(checkpointOrFile) ?? []
  if (count !== undefined && hash !== undefined) return [{ chain: null, count: Number(count), hash }]
  const found: Checkpoint[] = []
  for await (const { bytes } of splitLines(createReadStream(checkpointOrFile))) {
    const checkpoint = bytes.includes('"audit checkpoint"') ? parseCheckpoint(bytes.toString('utf8')) : null
    if (checkpoint !== null) found.push(checkpoint)
  }
  if (found.length === 0) throw new Error(`${checkpointOrFile} holds no line "audit checkpoint"`)
  return found
}

const parseCheckpoint = (line: string): Checkpoint | null => {
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
const maxLineBytes = 1024 * 1024

/** Splits what is read into lines, without their ends; the last one may have none. */
async function* splitLines(
  stream: Readable,
): AsyncGenerator<{ readonly bytes: Buffer; readonly isEnded: boolean }, void> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    const read = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    let at = 0
    for (let end = read.indexOf(newline); end !== -1; end = read.indexOf(newline, at)) {
      yield { bytes: read.subarray(at, end), isEnded: true }
      at = end + 1
    }
    rest = read.subarray(at)
    if (rest.length <= maxLineBytes) continue
    yield { bytes: rest, isEnded: false }
    rest = Buffer.alloc(0)
  }
  if (rest.length > 0) yield { bytes: rest, isEnded: false }
}
