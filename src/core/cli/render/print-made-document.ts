import type { Config } from '../../config/config.ts'
import type { DocumentFormat } from '../options.ts'

/** Sets the exit code: 1 for a file with problems, which go to stderr, 2 for an unreadable file. */
export const printMadeDocument = async (
  file: string,
  format: DocumentFormat,
  make: (config: Config) => unknown,
): Promise<void> => {
  const { loadConfig } = await import('../../config/load/load-config.ts')
  const loaded = loadConfig(file)
  if (!loaded.ok) {
    const { formatProblems } = await import('../../config/problem.ts')
    process.stderr.write(formatProblems(loaded.problems))
    process.exitCode = loaded.unreadable ? 2 : 1
    return
  }

  const document = await make(loaded.config)
  if (format === 'json') {
    const { printJson } = await import('./output.ts')
    printJson(document)
  } else {
    const { formatYaml } = await import('../../config/yaml/yaml-document.ts')
    process.stdout.write(formatYaml(document))
  }
}
