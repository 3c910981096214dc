import { createReadStream } from 'node:fs'
import { pluralize } from '../../../core/admin/commands/phrases.ts'
import { isReadError, maxReferencedBytes, readFileWithLimit } from '../../../core/config/load/source-files.ts'
import { escapeControls } from '../../../core/lib/text/escape-controls.ts'
import { errorMessage } from '../../../core/lib/try.ts'
import { fieldNameIn } from '../../../core/log/log-format.ts'
import { type AuditKey, parseAuditLine, splitLines, toAuditKey } from './chain.ts'
import { type AuditFinding, ChainVerifier, type Checkpoint } from './chain-verifier.ts'

export interface VerifyOptions {
  readonly key: readonly string[]
  readonly checkpoint: readonly string[]
  readonly mixed: boolean
}

// The first findings show where the damage begins.
const maxFindings = 50

const processOutput = {
  out: (text: string): void => void process.stdout.write(text),
  error: (text: string): void => void process.stderr.write(text),
}

export const verifyAuditLog = async (
  files: readonly string[],
  { key: keys, checkpoint: checkpoints, mixed }: VerifyOptions,
  output = processOutput,
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
    output.error(`lender-gateway: ${escapeControls(errorMessage(error))}\n`)
    return 2
  }
}

/** By chain and first number. By name, audit.log would be first, but it is the last. */
const sortByFirstRecord = async (files: readonly string[]): Promise<readonly string[]> => {
  const firsts = await Promise.all(files.map(readFirstRecord))
  firsts.sort((a, b) => a.number - b.number)
  return [...Map.groupBy(firsts, ({ chain }) => chain).values()].flat().map(({ file }) => file)
}

const readFirstRecord = async (file: string) => {
  for await (const { bytes } of splitLines(createReadStream(file))) {
    const record = parseAuditLine(bytes)
    if (record !== null) return { file, chain: record.chain, number: record.number }
  }
  return { file, chain: null, number: Number.MAX_SAFE_INTEGER } // no whole line
}

const printResult = (
  { findings, omittedFindings, notes, chains }: ChainVerifier,
  checkpoints: number,
  output: typeof processOutput,
): number => {
  for (const note of notes.slice(0, maxFindings)) output.error(`note: ${formatFinding(note)}\n`)
  for (const finding of findings.slice(0, maxFindings)) output.error(`${formatFinding(finding)}\n`)
  const faults = findings.length + omittedFindings
  if (faults > maxFindings) output.error(`and ${faults - maxFindings} more\n`)
  for (const { first, lines, last } of chains) {
    const which = `chain ${last.chain}: ${lines} lines, number ${first} to ${last.count}`
    // A checkpoint would vouch for a damaged chain.
    output.out(faults > 0 ? `${which}\n` : `${which}, checkpoint ${last.count}:${last.mac}\n`)
  }
  if (faults > 0) {
    output.out(`NOT as it was written: ${pluralize(faults, 'fault')}\n`)
    return 1
  }
  // Operators may delete the oldest files and lines.
  const later = chains.filter(({ first }) => first > 1).map(({ first }) => `number ${first}`)
  const begin = later.length === 0 ? '' : `, from ${later.join(' and ')} on`
  const end = checkpoints === 0 ? '; whether its end was cut off only a --checkpoint tells' : ''
  output.out(`all is as it was written${begin}${end}\n`)
  return 0
}

const formatFinding = ({ file, line, message }: AuditFinding): string =>
  escapeControls(line === 0 ? message : `${file}:${line}: ${message}`)

const readKey = (reference: string): AuditKey => {
  const file = reference.replace(/^file:/, '')
  const read = readFileWithLimit(file, maxReferencedBytes)
  if (isReadError(read)) throw new Error(`the key ${file} cannot be read: ${read.reason}`)
  return toAuditKey(read.toString('utf8').replace(/\r?\n$/, ''))
}

const readCheckpoints = async (checkpointOrFile: string): Promise<readonly Checkpoint[]> => {
  const [, count, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(checkpointOrFile) ?? []
  if (count !== undefined && hash !== undefined) return [{ chain: null, count: Number(count), hash }]
  const found: Checkpoint[] = []
  try {
    for await (const { bytes } of splitLines(createReadStream(checkpointOrFile))) {
      const checkpoint = bytes.includes('"audit checkpoint"') ? parseCheckpoint(bytes.toString('utf8')) : null
      if (checkpoint !== null) found.push(checkpoint)
    }
  } catch (error) {
    const expected = 'neither COUNT:HASH, a number and 64 digits of 0-9a-f, nor a log that can be read'
    throw new Error(`${checkpointOrFile} is ${expected}: ${errorMessage(error)}`)
  }
  if (found.length === 0) throw new Error(`${checkpointOrFile} holds no line "audit checkpoint"`)
  return found
}

const parseCheckpoint = (line: string): Checkpoint | null => {
  try {
    const field = parseLogLine(line)
    const [chain, count, hash] = [field('chain'), field('count'), field('hash')]
    if (field('msg') !== 'audit checkpoint' || typeof chain !== 'string' || typeof hash !== 'string') return null
    return typeof count === 'number' && Number.isSafeInteger(count) ? { chain, count, hash } : null
  } catch {
    return null
  }
}

/** Throws if the line is no JSON object. Members have pino's names. */
const parseLogLine = (line: string): ((name: string) => unknown) => {
  const members: Readonly<Record<string, unknown>> = JSON.parse(line)
  if ('msg' in members) return (name) => members[name]
  if ('message' in members) return (name) => members[fieldNameIn('ecs', name)]
  const all = { ...members, ...Object(members.Attributes) }
  return (name) => all[fieldNameIn('otel', name)]
}
