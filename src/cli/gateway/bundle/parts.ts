import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { availableParallelism, machine, release, totalmem, type } from 'node:os'
import { catalog } from '../../../catalog.ts'
import { loadConfig } from '../../../config/load.ts'
import { formatProblem, formatProblems } from '../../../config/problem.ts'
import { printable } from '../../../shared/printable.ts'
import { memberOf } from '../../../shared/shape.ts'
import { version } from '../../../version.ts'
import { explain } from '../../explain/explanation.ts'
import { explanationText } from '../../explain/text.ts'
import { askText, parsed as json } from '../ask.ts'
import { type Target, Unasked, unasked, urlOf } from '../target.ts'
import { refusal } from '../unreached.ts'
import { cutAddresses } from './cut.ts'

/** Is one file of the archive, or why it is none. */
export interface Part {
  readonly name: string
  /** Says what it is. */
  readonly what: string
  /** Null: it is not there. */
  readonly text: string | null
  /** Why it is missing; null: it is there, or there is none. */
  readonly error: string | null
  /** Whether the gateway has no such thing: it is older, or it was turned off. */
  readonly absent: boolean
}

type Source = Pick<Part, 'name' | 'what'> & { readonly make: () => string | Promise<string> }

/** Collects all that goes into the archive. What one cannot be had, costs no other. */
export const partsOf = (target: Target, file: string, addresses: boolean): Promise<readonly Part[]> => {
  const asJson =
    (path: string, alter: (told: unknown) => unknown = (told) => told) =>
    async (): Promise<string> => {
      const told = alter(parse(target, await fetched(target, path)))
      return `${JSON.stringify(addresses ? told : cutAddresses(told), null, 2)}\n`
    }
  const sources: readonly Source[] = [
    { name: 'status.json', what: 'GET /status', make: asJson('/status') },
    { name: 'config.json', what: 'GET /config, secrets masked', make: asJson('/config', withoutDigests) },
    { name: 'overview.json', what: 'GET /overview', make: asJson('/overview') },
    { name: 'refused.json', what: 'GET /refused, the last requests that were refused', make: asJson('/refused') },
    { name: 'metrics.txt', what: 'GET /metrics', make: async () => lines(await fetched(target, '/metrics')) },
    { name: 'explain.txt', what: `explain of the nine, as ${printable(file)} has them`, make: () => explained(file) },
    { name: 'versions.json', what: 'this command, Node and the machine that it ran on', make: versions },
  ]
  return Promise.all(sources.map((source) => partOf(source, target)))
}

const partOf = async ({ name, what, make }: Source, { token }: Target): Promise<Part> => {
  try {
    const made = await make()
    // Nothing that a gateway tells holds it. If anything ever does, it is not passed on.
    const text = token === null ? made : made.replaceAll(token.value, '***')
    return { name, what, text, error: null, absent: false }
  } catch (error) {
    if (error instanceof Absent) return { name, what, text: null, error: null, absent: true }
    const why = error instanceof Unasked ? error.message : printable(String(error))
    return { name, what, text: null, error: why, absent: false }
  }
}

class Absent extends Error {}

const limitMs = 10_000

const fetched = async (target: Target, path: string): Promise<string> => {
  const { status, text } = await askText(target, { method: 'GET', path, limitMs })
  if (status === 200) return text
  if (status === 404 && isOurs(text)) throw new Absent()
  throw refusal(target, path, status, json(text))
}

/** Tells whether an admin listener says so, by the detail: whoever asks the public one by mistake shall hear of it. */
const isOurs = (text: string): boolean => {
  const told = json(text)
  return memberOf(told, 'code') !== undefined && memberOf(told, 'detail') !== undefined
}

const parse = (target: Target, text: string): unknown => {
  const told = json(text)
  if (told === undefined) throw unasked(`${urlOf(target)} answers with something other than JSON`)
  return told
}

/** Whoever guesses a secret could tell by its digest that the guess is right. */
const withoutDigests = (told: unknown): unknown =>
  typeof told === 'object' && told !== null && 'digests' in told ? { ...told, digests: undefined } : told

const lines = (text: string): string => text.split('\n').map(printable).join('\n')

/** Explains the nine as a file has them; of one that is broken, says why. */
const explained = async (file: string): Promise<string> => {
  const loaded = loadConfig(file)
  if (!loaded.ok) return formatProblems(loaded.problems)
  const { basePath } = loaded.config.listen
  const texts = await Promise.all(
    catalog.map(async ({ method, path }) => explanationText(await explain(method, basePath + path, file, loaded))),
  )
  const warnings = loaded.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  return [...warnings, texts.join(`\n${'-'.repeat(80)}\n\n`)].join('')
}

/** Tells what this command runs on, which is what the gateway runs on where they share a machine; no name of it. */
const versions = async (): Promise<string> => {
  const { node, v8, openssl, uv, llhttp, undici } = process.versions
  const told = {
    gateway: version(),
    packageLock: await digest(new URL('../../../../package-lock.json', import.meta.url)),
    node: { version: node, v8, openssl, uv, llhttp, undici },
    system: { type: type(), release: release(), arch: process.arch, machine: machine() },
    processors: availableParallelism(),
    memoryBytes: totalmem(),
  }
  return `${JSON.stringify(told, null, 2)}\n`
}

/** Tells which versions are installed by the hash of their list; null: an installation without one. */
const digest = async (list: URL): Promise<string | null> => {
  const text = await readFile(list).catch(() => null)
  return text === null ? null : `sha256:${createHash('sha256').update(text).digest('hex')}`
}
