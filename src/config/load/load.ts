import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import type { Config } from '../config.ts'
import { configSchema } from '../config-schema.ts'
import { deepFreeze } from '../deep-freeze.ts'
import type { ConfigReport } from '../diff/diff-reports.ts'
import { getRestartOnlySettings, type RestartOnlySettings, reportConfig } from '../diff/report.ts'
import type { Environment } from '../environment.ts'
import { type ConfigIssue, type ConfigProblem, fileProblem, formatKeyPath, type LocatableIssue } from '../problem.ts'
import { valueAt } from '../rules/rule.ts'
import { validateCrossKeyRules } from '../rules/rules.ts'
import { collectWarnings } from '../warnings/warnings.ts'
import { parseYamlSource, toPlainTree, type YamlSource } from '../yaml/yaml-document.ts'
import { dropCascadingIssues } from './cascading-issues.ts'
import type { ClientFile } from './client-file.ts'
import { assembleClientList, type ClientList, validateClients } from './client-list.ts'
import { resolveFileReferences } from './file-references.ts'
import { parseAdmin } from './load-admin.ts'
import { locateIssues, notUtf8Problem } from './locate-issues.ts'
import { collectProvenance, type ProvenanceMap } from './provenance.ts'
import { isReadError, readFileWithLimit } from './read-file.ts'
import { resolveConfig } from './resolve-levels.ts'
import { maxConfigBytes, type SourceFile, toSourceFile } from './source-files.ts'
import { issuesFromZod } from './zod-issues.ts'

/** Tells a file that can run from one that cannot, and why. */
export type LoadResult =
  | {
      readonly ok: true
      readonly config: Config
      /** What may be shown of it. */
      readonly report: ConfigReport
      /** What of it needs a restart to be another. */
      readonly restartOnly: RestartOnlySettings
      /** Says for each value which level won, and where. */
      readonly provenance: ProvenanceMap
      /** What works, but was probably not meant. */
      readonly warnings: readonly ConfigProblem[]
      readonly sources: readonly SourceFile[]
      /** The port of the operators as the file alone says it, without variables; null: it leaves that open. */
      readonly statedAdminPort: number | null
    }
  | {
      readonly ok: false
      readonly problems: readonly ConfigProblem[]
      /** Whether the file could not be read at all. */
      readonly unreadable: boolean
      /** The files that were read, or should have been: this one first, then those that it refers to. */
      readonly sources: readonly SourceFile[]
    }

/** Loads a configuration file: reads, parses, fills in the environment and secrets, validates, resolves. Never throws. */
export function loadConfig(file: string, environment: Environment = process.env): LoadResult {
  return freezeResult(readConfig(file, environment))
}

/** Does what {@link loadConfig} does for another thread: what is made here is copied, and frozen there. */
export function readConfig(file: string, environment: Environment): LoadResult {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  if (!isReadError(bytes)) return parseBytes(bytes, file, environment)
  const message = `the file cannot be read: ${bytes.reason}`
  const problem = fileProblem(file, message, 'a YAML file of at most 1MiB', bytes.reason)
  const sources = [toSourceFile(file, null, maxConfigBytes)]
  return { ok: false, problems: [problem], unreadable: !bytes.readable, sources }
}

/** Does what {@link loadConfig} does, with the bytes of the file in hand; `file` names it and anchors relative names. */
export function parseConfig(bytes: Uint8Array, file: string, environment: Environment): LoadResult {
  return freezeResult(parseBytes(bytes, file, environment))
}

const freezeResult = (result: LoadResult): LoadResult =>
  result.ok ? { ...result, config: deepFreeze(result.config) } : result

function parseBytes(bytes: Uint8Array, file: string, environment: Environment): LoadResult {
  const ownSource = toSourceFile(file, bytes, maxConfigBytes)
  if (!isUtf8(bytes)) return reject([notUtf8Problem(bytes, file)], [ownSource])
  const text = new TextDecoder().decode(bytes)
  const source = parseYamlSource(text)
  if (source.usable && source.document.contents === null) {
    return reject([fileProblem(file, 'the file is empty', 'a map with the key upstreams', 'nothing')], [ownSource])
  }

  const { tree, issues: yamlIssues } = toPlainTree(source, environment)
  if (tree === undefined) return reject(locateIssues(yamlIssues, source, file), [ownSource])
  const secrets = resolveFileReferences(tree, dirname(file))
  const included = assembleClientList(valueAt(secrets.tree, ['clients']), dirname(file), environment)
  const sources = [ownSource, ...secrets.sources, ...(included?.files ?? []).map((each) => each.source)]
  // Thousands of clients are not for zod, nor for whatever walks through the whole tree.
  const result = configSchema.safeParse(included === null ? secrets.tree : withClients(secrets.tree, []))
  const clients = included === null ? null : validateClients(included.list)
  const completeTree = included === null ? secrets.tree : withClients(secrets.tree, included.list)
  const issues = [...yamlIssues, ...secrets.issues, ...(included?.issues ?? [])]
  if (!result.success) issues.push(...withoutRepeats(issuesFromZod(result.error.issues, secrets.tree), issues))
  issues.push(...withoutRepeats(clients?.issues ?? [], issues))
  issues.push(...withoutRepeats(validateCrossKeyRules(completeTree), issues))
  const problems = locateInFiles(dropCascadingIssues(issues, secrets.tree), source, file, included)
  if (!result.success || problems.length > 0) return reject(problems, sources)
  const config = resolveConfig(result.data, { clients: clients?.clients ?? [], parts: included?.parts ?? [] })
  const warnings = locateInFiles(collectWarnings(result.data, config), source, file, included)
  const adminOfFileAlone = text.includes('${') ? parseAdmin(bytes, file, {}) : { admin: config.admin, isGuessed: false }
  const statedAdminPort = adminOfFileAlone.isGuessed ? null : adminOfFileAlone.admin.port
  const reported = reportConfig(config)
  const provenance = collectProvenance(source.locateStated)
  return {
    ok: true,
    config,
    report: reported,
    restartOnly: getRestartOnlySettings(reported),
    provenance,
    warnings,
    sources,
    statedAdminPort,
  }
}

const withClients = (tree: unknown, clients: readonly unknown[]): unknown =>
  typeof tree === 'object' && tree !== null ? { ...tree, clients } : tree

/** Tells each finding with the file that it is of: this one, or one that it includes. */
const locateInFiles = (
  issues: readonly LocatableIssue[],
  source: YamlSource,
  file: string,
  included: ClientList | null,
): readonly ConfigProblem[] => {
  if (included === null) return locateIssues(issues, source, file)
  const { files, toFilePath } = included
  const all = issues.map((issue) => {
    const { file: of, path } = toFilePath(issue.path)
    return { of, issue: { ...issue, path } }
  })
  const of = (each: ClientFile | null): readonly LocatableIssue[] =>
    all.flatMap((one) => (one.of === each ? one.issue : []))
  return [
    ...locateIssues(of(null), source, file),
    ...files.flatMap((each) => [...each.problems, ...locateIssues([...each.issues, ...of(each)], each, each.file)]),
  ]
}

const reject = (problems: readonly ConfigProblem[], sources: readonly SourceFile[]): LoadResult => ({
  ok: false,
  problems,
  unreadable: false,
  sources,
})

/** Leaves out what repeats an earlier finding: a value that could not be filled in is not also of the wrong type. */
const withoutRepeats = (later: readonly ConfigIssue[], earlier: readonly ConfigIssue[]): readonly ConfigIssue[] => {
  const known = new Set(earlier.filter(({ path }) => path.length > 0).map(({ path }) => formatKeyPath(path)))
  return later.filter(({ path }) => !known.has(formatKeyPath(path)))
}
