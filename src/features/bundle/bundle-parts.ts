import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { availableParallelism, machine, release, totalmem, type } from 'node:os'
import { overviewMembers } from '../../core/admin/api/overview.ts'
import { type BundlePart, commandPartLoaders } from '../../core/cli/built-in-command.ts'
import { callAdminRaw } from '../../core/cli/client/admin-client.ts'
import { rejectedError } from '../../core/cli/client/admin-errors.ts'
import { type AdminTarget, CliError, cliError, targetUrl } from '../../core/cli/client/admin-target.ts'
import { formatJson } from '../../core/cli/render/output.ts'
import { loadConfig } from '../../core/config/load/load-config.ts'
import { type ConfigProblem, formatProblem, formatProblems } from '../../core/config/problem.ts'
import { parseJson } from '../../core/lib/plain-object.ts'
import { version } from '../../core/lib/program.ts'
import { getMember } from '../../core/lib/text/decode.ts'
import { escapeControls } from '../../core/lib/text/escape-controls.ts'
import { leadsToAddresses, redactAddresses } from './redact.ts'

/** One file of the archive, or the reason why it is missing. */
export interface BundleFile {
  readonly name: string
  /** Its source, for the manifest. */
  readonly what: string
  /** Its contents; null: it is missing. */
  readonly text: string | null
  /** Why it is missing; null: it is there, or it is absent. */
  readonly error: string | null
  /** Whether the gateway does not have it: it is older, or the feature is off. */
  readonly absent: boolean
}

type PartSource = Pick<BundleFile, 'name' | 'what'> & { readonly make: () => string | Promise<string> }

/** Collects the parts of the archive. A part that fails does not affect the others. */
export const collectParts = async (
  target: AdminTarget,
  file: string,
  addresses: boolean,
): Promise<readonly BundleFile[]> => {
  const commandParts = await commandPartLoaders.load()
  const parts = await Promise.all(commandParts.flatMap(({ loadBundle }) => loadBundle?.() ?? []))
  const asJson =
    (path: string, transform: (value: unknown) => unknown = (value) => value) =>
    async (): Promise<string> => {
      const body = transform(parseBody(target, await fetchText(target, path)))
      const value = parts.reduce((each, { withoutClientData }) => withoutClientData?.(each) ?? each, body)
      return `${JSON.stringify(addresses ? value : redactAddresses(value), null, 2)}\n`
    }
  const sources: readonly PartSource[] = [
    { name: 'status.json', what: 'GET /status', make: asJson('/status') },
    { name: 'config.json', what: 'GET /config, secrets masked', make: asJson('/config', withoutDigests) },
    { name: 'overview.json', what: 'GET /overview', make: asJson('/overview', withoutUnknown) },
    { name: 'refused.json', what: 'GET /refused, the last requests that were refused', make: asJson('/refused') },
    ...parts
      .flatMap(({ bundledReports = [] }) => bundledReports)
      .map(({ name, path, about }) => ({ name, what: `GET ${path}, ${about}`, make: asJson(path) })),
    {
      name: 'metrics.txt',
      what: 'GET /metrics',
      make: async () => printableLines(await fetchText(target, '/metrics')),
    },
    ...parts
      .flatMap(({ ofFile }) => ofFile ?? [])
      .map(({ name, about, render }) => ({
        name,
        what: `${about}, as ${escapeControls(file)} has them`,
        make: () => describeFile(file, addresses, render),
      })),
    { name: 'versions.json', what: 'this command, Node and the machine that it ran on', make: versions },
  ]
  return Promise.all(sources.map((source) => makePart(source, target)))
}

const makePart = async ({ name, what, make }: PartSource, { token }: AdminTarget): Promise<BundleFile> => {
  try {
    const content = await make()
    // No response of a gateway holds the token. If one ever does, the token is masked.
    const text = token === null ? content : content.replaceAll(token.value, '***')
    return { name, what, text, error: null, absent: false }
  } catch (error) {
    if (error instanceof NotProvided) return { name, what, text: null, error: null, absent: true }
    const reason = error instanceof CliError ? error.message : escapeControls(String(error))
    return { name, what, text: null, error: reason, absent: false }
  }
}

class NotProvided extends Error {}

const timeoutMs = 10_000

const fetchText = async (target: AdminTarget, path: string): Promise<string> => {
  const { status, text } = await callAdminRaw(target, { method: 'GET', path, timeoutMs })
  if (status === 200) return text
  if (status === 404 && isAdminProblem(text)) throw new NotProvided()
  throw rejectedError(target, path, status, parseJson(text))
}

/** Tells an admin listener's problem by its detail: an operator who asks the public listener must learn of it. */
const isAdminProblem = (text: string): boolean => {
  const value = parseJson(text)
  return getMember(value, 'code') !== undefined && getMember(value, 'detail') !== undefined
}

const parseBody = (target: AdminTarget, text: string): unknown => {
  const value = parseJson(text)
  if (value === undefined) throw cliError(`${targetUrl(target)} answers with something other than JSON`)
  return value
}

/** Leaves out the digests of secrets: an attacker could verify a guess by its digest. */
const withoutDigests = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'digests' in value ? { ...value, digests: undefined } : value

/** Leaves out what this version does not know of: it may be data of clients. */
const withoutUnknown = (value: unknown): unknown =>
  Object.fromEntries(Object.entries(Object(value)).filter(([name]) => overviewMembers.has(name)))

const printableLines = (text: string): string => text.split('\n').map(escapeControls).join('\n')

const describeFile = (
  file: string,
  addresses: boolean,
  render: NonNullable<BundlePart['ofFile']>['render'],
): string => {
  const loaded = loadConfig(file)
  if (!loaded.ok) return formatProblems(addresses ? loaded.problems : loaded.problems.map(withoutAddress))
  const warnings = loaded.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  return [...warnings, render(file, loaded)].join('')
}

const withoutAddress = ({ hint, ...problem }: ConfigProblem): ConfigProblem => {
  if (leadsToAddresses(problem.path)) return { ...problem, found: '***' } // the hint may quote the address
  return hint === undefined ? problem : { ...problem, hint }
}

/** Collects the versions of this command's machine, which may be the gateway's too. Its name is left out. */
const versions = async (): Promise<string> => {
  const { node, v8, openssl, uv, llhttp, undici } = process.versions
  const value = {
    command: version(),
    // The image has no other list than the one that npm leaves beside the packages.
    packageLock: (await digest('package-lock.json')) ?? (await digest('node_modules/.package-lock.json')),
    node: { version: node, v8, openssl, uv, llhttp, undici },
    system: { type: type(), release: release(), arch: process.arch, machine: machine() },
    processors: availableParallelism(),
    memoryBytes: totalmem(),
  }
  return formatJson(value)
}

const digest = async (path: string): Promise<string | null> => {
  const text = await readFile(new URL(`../../../${path}`, import.meta.url)).catch(() => null)
  return text === null ? null : `sha256:${hash('sha256', text, 'hex')}`
}
