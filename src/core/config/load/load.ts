import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import type { Config } from '../config.ts'
import { configParts, type IncludedSection, type NamedFile, type ReadNamedFile } from '../config-part.ts'
import { configSchema } from '../config-schema.ts'
import type { ConfigReport } from '../diff/diff-values.ts'
import { getRestartOnlySettings, type RestartOnlySettings, reportConfig } from '../diff/report.ts'
import type { Environment } from '../environment.ts'
import { type ConfigProblem, fileProblem, type LocatableIssue } from '../problem.ts'
import { validateCrossKeyRules } from '../rules/rules.ts'
import { schemaKeys } from '../schema/schema-keys.ts'
import { collectWarnings } from '../warnings/warnings.ts'
import { parseYamlSource, toPlainTree, type YamlSource } from '../yaml/yaml-document.ts'
import { resolveFileReferences } from './file-references.ts'
import { dropCascadingIssues, issuesFromZod, locateIssues, notUtf8Problem, withoutRepeats } from './issues.ts'
import { parseAdmin } from './load-admin.ts'
import { collectProvenance, type ProvenanceMap } from './provenance.ts'
import { resolveConfig } from './resolve-levels.ts'
import { isReadError, maxConfigBytes, readFileWithLimit, type SourceFile, toSourceFile } from './source-files.ts'

export interface LoadedConfig {
  readonly ok: true
  readonly config: Config
  readonly report: ConfigReport
  readonly restartOnly: RestartOnlySettings
  readonly provenance: ProvenanceMap
  readonly warnings: readonly ConfigProblem[]
  readonly sources: readonly SourceFile[]
  /** As the file states it, without variables; null: not stated. */
  readonly statedAdminPort: number | null
}

export type LoadResult =
  | LoadedConfig
  | {
      readonly ok: false
      readonly problems: readonly ConfigProblem[]
      readonly unreadable: boolean
      /** This file first, then the files that it names, unreadable ones too. */
      readonly sources: readonly SourceFile[]
      readonly isCutShort?: true
    }

export interface OpenedConfig {
  readonly named: readonly { readonly name: string; readonly file: NamedFile }[]
  complete(read: readonly ReturnType<ReadNamedFile>[]): LoadResult
}

const referenceKeys = schemaKeys.filter(({ file }) => file !== undefined)

const includes = await Promise.all(configParts.flatMap((part) => part.loadInclude?.() ?? []))

/** Never rejects. */
export const readConfig = async (file: string, environment: Environment = process.env): Promise<LoadResult> => {
  const { named, complete } = openConfig(file, environment)
  const read: ReturnType<ReadNamedFile>[] = []
  for (const each of named) read.push((await each.file.load())(dirname(file), each.name))
  return complete(read)
}

/** Without the files that it names. Never throws. */
export const openConfig = (file: string, environment: Environment): OpenedConfig => {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  if (!isReadError(bytes)) return parseConfigBytes(bytes, file, environment)
  const message = `the file cannot be read: ${bytes.reason}`
  const problem = fileProblem(file, message, 'a YAML file of at most 1MiB', bytes.reason)
  const sources = [toSourceFile(file, null, maxConfigBytes)]
  return withoutFiles({ ok: false, problems: [problem], unreadable: !bytes.readable, sources })
}

export const parseConfigBytes = (bytes: Uint8Array, file: string, environment: Environment): OpenedConfig => {
  const ownSource = toSourceFile(file, bytes, maxConfigBytes)
  if (!isUtf8(bytes)) return withoutFiles(reject([notUtf8Problem(bytes, file)], [ownSource]))
  const text = new TextDecoder().decode(bytes)
  const source = parseYamlSource(text)
  if (source.usable && source.document.contents === null) {
    const problem = fileProblem(file, 'the file is empty', 'a map with the key upstreams', 'nothing')
    return withoutFiles(reject([problem], [ownSource]))
  }
  const { tree, issues: yamlIssues } = toPlainTree(source, environment)
  if (tree === undefined) return withoutFiles(reject(locateIssues(yamlIssues, source, file), [ownSource]))
  const mistaken = configParts.flatMap((part) => part.findMistaken?.(tree) ?? [])
  if (mistaken.length > 0) return withoutFiles(reject(locateIssues(mistaken, source, file), [ownSource]))
  const secrets = resolveFileReferences(tree, dirname(file), referenceKeys)
  const included = includes.flatMap((include) => include(secrets.tree, dirname(file), environment) ?? [])
  const sources = [ownSource, ...secrets.sources, ...included.flatMap((each) => each.sources)]
  // Without the entries of included files: zod would be slow with thousands of them.
  const result = configSchema.safeParse(withSections(secrets.tree, included, () => []))
  const validated = included.map((each) => each.validate())
  const issues = [...yamlIssues, ...secrets.issues, ...included.flatMap((each) => each.issues)]
  if (!result.success) issues.push(...withoutRepeats(issuesFromZod(result.error.issues, secrets.tree), issues))
  for (const each of validated) issues.push(...withoutRepeats(each.issues, issues))
  const completeTree = withSections(secrets.tree, included, ({ value }) => value)
  issues.push(...withoutRepeats(validateCrossKeyRules(completeTree), issues))
  // Also after other issues, so that an operator sees all problems at once.
  const named = configParts.flatMap(({ namedFile: file }) => {
    const name = file?.find(secrets.tree)
    return file === undefined || name === undefined ? [] : [{ name, file }]
  })
  const complete: OpenedConfig['complete'] = (read) => {
    const allSources = [...sources, ...read.flatMap((each) => each.sources)]
    const ownIssues = dropCascadingIssues([...issues, ...read.flatMap((each) => each.issues)], secrets.tree)
    const problems = [...locateInFiles(ownIssues, source, file, included), ...read.flatMap((each) => each.problems)]
    if (!result.success || problems.length > 0) return reject(problems, allSources)
    const config = resolveConfig(result.data, ...[...validated, ...read].map((each) => each.config))
    const ownWarnings = locateInFiles(collectWarnings(result.data, config), source, file, included)
    const warnings = [...ownWarnings, ...read.flatMap((each) => each.warnings)]
    const ofFileAlone = text.includes('${') ? parseAdmin(bytes, file, {}) : { ...config.admin, isGuessed: false }
    const statedAdminPort = ofFileAlone.isGuessed ? null : ofFileAlone.port
    const report = reportConfig(config)
    const restartOnly = getRestartOnlySettings(report)
    const provenance = collectProvenance(source.locateStated)
    return { ok: true, config, report, restartOnly, provenance, warnings, sources: allSources, statedAdminPort }
  }
  return { named, complete }
}

const withoutFiles = (result: LoadResult): OpenedConfig => ({ named: [], complete: () => result })

const withSections = (
  tree: unknown,
  included: readonly IncludedSection[],
  entriesOf: (section: IncludedSection) => readonly unknown[],
): unknown => included.reduce((whole, each) => ({ ...Object(whole), [each.key]: entriesOf(each) }), tree)

const locateInFiles = (
  issues: readonly LocatableIssue[],
  source: YamlSource,
  file: string,
  included: readonly IncludedSection[],
): readonly ConfigProblem[] => {
  const inFiles = issues.map((issue) => {
    const section = included.find(({ key }) => key === issue.path[0])
    const { file: of, path } = section?.toFilePath(issue.path) ?? { file: null, path: issue.path }
    return { of, issue: { ...issue, path } }
  })
  const issuesIn = (wanted: IncludedSection['files'][number] | null): readonly LocatableIssue[] =>
    inFiles.flatMap(({ of, issue }) => (of === wanted ? issue : []))
  return [
    ...locateIssues(issuesIn(null), source, file),
    ...included
      .flatMap((each) => each.files)
      .flatMap((each) => [...each.problems, ...locateIssues([...each.issues, ...issuesIn(each)], each, each.file)]),
  ]
}

const reject = (problems: readonly ConfigProblem[], sources: readonly SourceFile[]): LoadResult => {
  return { ok: false, problems, unreadable: false, sources }
}
