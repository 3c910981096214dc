import type { Config } from '../../config/config.ts'
import { version } from '../../lib/program.ts'
import { escapeQuotedControls } from '../../lib/text/escape-controls.ts'
import { type AdminTarget, targetUrl } from '../client/admin-target.ts'
import type { DocumentFormat } from '../options.ts'

export const printJson = (value: unknown): void => void process.stdout.write(formatJson(value))

export const formatJson = (value: unknown): string => `${escapeQuotedControls(JSON.stringify(value, null, 2))}\n`

/** Waits until the reader has taken the content, so nothing accumulates for a slow reader. */
export const writeToStdout = (content: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => void process.stdout.write(content, () => resolve()))

/** Warns on stderr of an address that is not the file's, and of a gateway of another version. */
export const warnAboutTarget = (target: AdminTarget, gatewayVersion: string = version()): void => {
  if (target.fallbackReason !== null)
    process.stderr.write(`lender-gateway: ${target.fallbackReason}; asked ${targetUrl(target)}\n`)
  if (gatewayVersion !== version())
    process.stderr.write(`lender-gateway: ${targetUrl(target)} is ${versionMismatch(gatewayVersion)}\n`)
}

export const versionMismatch = (gatewayVersion: string): string =>
  `version ${gatewayVersion}, this command is version ${version()}: use the same version`

/** Sets the exit code: 1 for a file with problems, which go to stderr, 2 for an unreadable file. */
export const printMadeDocument = async (
  file: string,
  format: DocumentFormat,
  make: (config: Config) => unknown,
): Promise<void> => {
  const { readConfig } = await import('../../config/load/load.ts')
  const loaded = await readConfig(file)
  if (!loaded.ok) {
    const { formatProblems } = await import('../../config/problem.ts')
    process.stderr.write(formatProblems(loaded.problems))
    process.exitCode = loaded.unreadable ? 2 : 1
    return
  }

  const document = await make(loaded.config)
  if (format === 'json') return printJson(document)
  const { formatYaml } = await import('../../config/yaml/yaml-document.ts')
  process.stdout.write(formatYaml(document))
}
