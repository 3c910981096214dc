import { catalog } from '../../../catalog.ts'
import { loadConfig } from '../../../config/load.ts'
import { formatProblem, formatProblems } from '../../../config/problem.ts'
import { explain } from '../../explain/explanation.ts'
import { explanationText } from '../../explain/text.ts'

/** Explains the nine as a file has them; of one that is broken, says why. */
export const explained = async (file: string): Promise<string> => {
  const loaded = loadConfig(file)
  if (!loaded.ok) return formatProblems(loaded.problems)
  const { basePath } = loaded.config.listen
  const texts = await Promise.all(
    catalog.map(async ({ method, path }) => explanationText(await explain(method, basePath + path, file, loaded))),
  )
  const warnings = loaded.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  return [...warnings, texts.join(`\n${'-'.repeat(80)}\n\n`)].join('')
}
