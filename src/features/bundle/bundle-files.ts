import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { availableParallelism, machine, release, totalmem, type } from 'node:os'
import { type BundlePart, commandPartLoaders } from '../../core/cli/built-in-command.ts'
import { callAdminRaw } from '../../core/cli/client/admin-client.ts'
import { rejectedError } from '../../core/cli/client/admin-errors.ts'
import { type AdminTarget, CliError, cliError, targetUrl } from '../../core/cli/client/admin-target.ts'
import { formatJson } from '../../core/cli/render/output.ts'
import { loadConfig } from '../../core/config/load/load-config.ts'
import { type ConfigProblem, formatProblem, formatProblems } from '../../core/config/problem.ts'
import { isIP, isIPv6, toNetworkKey } from '../../core/lib/net/addresses.ts'
import { parseJson } from '../../core/lib/plain-object.ts'
import { version } from '../../core/lib/program.ts'
import { getMember } from '../../core/lib/text/decode.ts'
import { escapeControls } from '../../core/lib/text/escape-controls.ts'
import { overviewMembers } from '../overview/overview.ts'

export interface BundleFile {
  readonly name: string
  readonly what: string
  readonly text: string | null
  readonly error: string | null
  /** The gateway is older, or the feature is off. */
  readonly absent: boolean
}

type PartSource = Pick<BundleFile, 'name' | 'what'> & { readonly make: () => string | Promise<string> }

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
    { name: 'rejected.json', what: 'GET /rejected, the last requests that were rejected', make: asJson('/rejected') },
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
    // No response of a gateway should hold the token. A token that does appear is masked.
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

/** By its detail: an operator who asks the public listener must learn of it. */
const isAdminProblem = (text: string): boolean => {
  const value = parseJson(text)
  return getMember(value, 'code') !== undefined && getMember(value, 'detail') !== undefined
}

const parseBody = (target: AdminTarget, text: string): unknown => {
  const value = parseJson(text)
  if (value === undefined) throw cliError(`${targetUrl(target)} responds with something other than JSON`)
  return value
}

/** Digests of secrets are left out: an attacker could verify a guess. */
const withoutDigests = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && 'digests' in value ? { ...value, digests: undefined } : value

/** Members that this version does not know may be data of clients. */
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

/** This machine may be the gateway's too. The host name is left out. */
const versions = async (): Promise<string> => {
  const { node, v8, openssl, uv, llhttp, undici } = process.versions
  const value = {
    command: version(),
    // The image has only the list that npm leaves beside the packages.
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

const prefixBits = { 4: 24, 6: 48 } as const

/** To the /24, or /48 of IPv6, which tells lenders apart but no computer. Other text becomes `***`. */
export const truncateAddress = (addressText: string): string => {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(addressText) ?? []
  const [address = '', bits] = (mapped ?? addressText).split('/')
  if (isIPv4(address)) {
    if (bits !== undefined && Number(bits) <= prefixBits[4]) return addressText
    return `${address.split('.').slice(0, 3).join('.')}.0/${prefixBits[4]}`
  }
  if (isIPv6(address)) {
    if (bits !== undefined && Number(bits) <= prefixBits[6]) return addressText
    return toNetworkKey(address, prefixBits[6])
  }
  return '***'
}

/**
 * Cuts the `client` of rejected requests, `addresses` in the configuration, its changes and problems, and addresses in
 * a `cause`. URLs of upstreams stay: without them nothing can be explained.
 */
export const redactAddresses = (json: unknown): unknown => {
  if (Array.isArray(json)) return json.map(redactAddresses)
  if (typeof json !== 'object' || json === null) return json
  const isAboutAddresses = 'path' in json && typeof json.path === 'string' && leadsToAddresses(json.path)
  return Object.fromEntries(
    Object.entries(json).map(([key, value]) => {
      if (key === 'client' && typeof value === 'string')
        return [key, isIP(value) === 0 ? value : truncateAddress(value)]
      if (key === 'cause' && typeof value === 'string') return [key, redactWords(value)]
      const holdsAddresses = key === 'addresses' || (isAboutAddresses && quotingKeys.has(key))
      return [key, holdsAddresses ? redactAll(value) : redactAddresses(value)]
    }),
  )
}

const quotingKeys: ReadonlySet<string> = new Set(['from', 'to', 'found', 'hint'])

/** `clients[0].addresses[1]`, `clients.bank-a.addresses`. */
const leadsToAddresses = (path: string): boolean => /\.addresses(\[\d+\])?$/.test(path)

const redactWords = (text: string): string =>
  text.replaceAll(/[^\s,;()]+/g, (word) => {
    const bare = isIP(word) === 0 ? word.replace(/[:.]+$/, '') : word
    return isIP(bare) === 0 ? word : truncateAddress(bare) + word.slice(bare.length)
  })

const redactAll = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactAll)
  return typeof value === 'string' ? truncateAddress(value) : value
}
