import { hash } from 'node:crypto'
import { isatty } from 'node:tty'
import { strToU8, zipSync } from 'fflate'
import { type ClientCommandOptions, cliError, locateGateway, targetUrl } from '../../core/cli/client/admin-target.ts'
import { writeOutputFile } from '../../core/cli/output-file.ts'
import { formatJson, warnAboutTarget, writeToStdout } from '../../core/cli/render/output.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { version } from '../../core/lib/program.ts'
import { formatTable } from '../../core/lib/text/table.ts'
import { type BundleFile, collectParts } from './bundle-files.ts'

export interface BundleOptions extends ClientCommandOptions {
  readonly output?: string
  readonly force?: true
  readonly addresses?: true
}

export const createBundle = async ({
  format,
  output,
  force,
  addresses,
  ...targetOptions
}: BundleOptions): Promise<number> => {
  const at = new Date(epochMs())
  const archiveOutput = openArchiveOutput(output ?? defaultFileName(at), force === true)
  const target = await locateGateway(targetOptions)
  const parts = await collectParts(target, targetOptions.config, addresses === true)
  warnAboutTarget(target)
  const manifestText = renderManifest(parts, at, targetUrl(target), addresses === true)
  const bytes = packZip([...parts, { name: 'MANIFEST.txt', text: manifestText }], at)
  await archiveOutput.write(bytes)

  const missing = parts.filter(({ error }) => error !== null)
  for (const [error, same] of Map.groupBy(missing, (part) => part.error)) {
    const names = same.map(({ name }) => name).join(', ')
    process.stderr.write(`lender-gateway: ${names} ${same.length === 1 ? 'is' : 'are'} missing: ${error}\n`)
  }
  if (archiveOutput.isFile)
    process.stdout.write(renderSummary(archiveOutput.name, bytes.length, parts, format === 'json'))
  return missing.length === 0 ? 0 : 1
}

const defaultFileName = (at: Date): string =>
  `lender-gateway-bundle-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}.zip`

const renderSummary = (file: string, bytes: number, parts: readonly BundleFile[], asJson: boolean): string =>
  asJson
    ? formatJson({ file, bytes, parts: parts.map(({ name, error, absent }) => ({ name, error, absent })) })
    : `${file}: ${parts.filter(({ text }) => text !== null).length} parts, ${Math.ceil(bytes / 1024)} KiB\n`

const renderManifest = (parts: readonly BundleFile[], at: Date, url: string, addresses: boolean): string => {
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
  return `${formatTable(facts)}\n\n${formatTable(rows)}\n`
}

const digest = (text: string): string => hash('sha256', text, 'hex')

/** Zip opens everywhere. Node packs gzip only, which holds one file. */
const packZip = (
  files: readonly { readonly name: string; readonly text: string | null }[],
  at: Date,
): Uint8Array<ArrayBuffer> => {
  const packed = files.flatMap(({ name, text }) => (text === null ? [] : [[name, strToU8(text)] as const]))
  return zipSync(Object.fromEntries(packed), { mtime: at })
}

/** The file is its owner's alone. `write` writes all bytes, or leaves nothing. */
const openArchiveOutput = (output: string, force: boolean) => {
  const write = (bytes: Uint8Array) => writeOutputFile(output, bytes, { force, mode: 0o600 })
  if (output !== '-') return { name: output, isFile: true, write }
  if (isatty(1)) throw cliError('stdout is a terminal: write the archive to a file with --output FILE')
  return { name: 'stdout', isFile: false, write: writeToStdout }
}
