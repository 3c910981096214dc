import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import type { ClientFile } from '../../../features/clients/client-file.ts'
import { assembleClientList, type ClientList, validateClients } from '../../../features/clients/client-list.ts'
import type { LoadedContract } from '../../../features/contract/compile/load-contract.ts'
import { contractFileSchema } from '../../../features/contract/config.ts'
import { programCommand } from '../../lib/program-command.ts'
import type { Config } from '../config.ts'
import { configSchema } from '../config-schema.ts'
import type { ConfigReport } from '../diff/diff-reports.ts'
import { getRestartOnlySettings, type RestartOnlySettings, reportConfig } from '../diff/report.ts'
import type { Environment } from '../environment.ts'
import {
  type ConfigIssue,
  type ConfigProblem,
  fileProblem,
  formatKeyPath,
  type LocatableIssue,
  quote,
} from '../problem.ts'
import { parseAt, rawAt, valueAt } from '../rules/rule.ts'
import { validateCrossKeyRules } from '../rules/rules.ts'
import { collectWarnings } from '../warnings/warnings.ts'
import { parseYamlSource, toPlainTree, type YamlSource } from '../yaml/yaml-document.ts'
import { dropCascadingIssues } from './cascading-issues.ts'
import { resolveFileReferences } from './file-references.ts'
import { parseAdmin } from './load-admin.ts'
import { locateIssues, notUtf8Problem } from './locate-issues.ts'
import { collectProvenance, type ProvenanceMap } from './provenance.ts'
import { isReadError, readFileWithLimit } from './read-file.ts'
import { resolveConfig } from './resolve-levels.ts'
import { maxConfigBytes, type SourceFile, toSourceFile } from './source-files.ts'
import { issuesFromZod } from './zod-issues.ts'

/** A configuration file that was read and can run. */
export interface LoadedConfig {
  readonly ok: true
  readonly config: Config
  readonly report: ConfigReport
  readonly restartOnly: RestartOnlySettings
  readonly provenance: ProvenanceMap
  readonly warnings: readonly ConfigProblem[]
  readonly sources: readonly SourceFile[]
  /** The admin port as the file alone states it, without variables; null: the file leaves it open. */
  readonly statedAdminPort: number | null
}

export type LoadResult =
  | LoadedConfig
  | {
      readonly ok: false
      readonly problems: readonly ConfigProblem[]
      readonly unreadable: boolean
      /** This file first, then those that it refers to, whether they could be read or not. */
      readonly sources: readonly SourceFile[]
      /** Whether the load was given up before it was known to which files the file refers. */
      readonly isCutShort?: true
    }

/** A configuration that was read, but for its contract. */
export interface OpenedConfig {
  /** The file of its contract, relative to that of the configuration; undefined: it names none. */
  readonly contractName: string | undefined
  /** Completes the load with the contract that was loaded, or with {@link noContract}. The result is not frozen. */
  complete(contract: LoadedContract): LoadResult
}

/**
 * Reads a configuration file but for its contract: what compiles contracts is loaded where one is named. Fills in the
 * environment and secrets. Never throws.
 */
export const openConfig = (file: string, environment: Environment): OpenedConfig => {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  if (!isReadError(bytes)) return parseConfigBytes(bytes, file, environment)
  const message = `the file cannot be read: ${bytes.reason}`
  const problem = fileProblem(file, message, 'a YAML file of at most 1MiB', bytes.reason)
  const sources = [toSourceFile(file, null, maxConfigBytes)]
  return withoutContract({ ok: false, problems: [problem], unreadable: !bytes.readable, sources })
}

/** Does what {@link openConfig} does, with the bytes of `file`, which is the base of relative names. */
export const parseConfigBytes = (bytes: Uint8Array, file: string, environment: Environment): OpenedConfig => {
  const ownSource = toSourceFile(file, bytes, maxConfigBytes)
  if (!isUtf8(bytes)) return withoutContract(reject([notUtf8Problem(bytes, file)], [ownSource]))
  const text = new TextDecoder().decode(bytes)
  const source = parseYamlSource(text)
  if (source.usable && source.document.contents === null) {
    const problem = fileProblem(file, 'the file is empty', 'a map with the key upstreams', 'nothing')
    return withoutContract(reject([problem], [ownSource]))
  }
  const { tree, issues: yamlIssues } = toPlainTree(source, environment)
  if (tree === undefined) return withoutContract(reject(locateIssues(yamlIssues, source, file), [ownSource]))
  const mistaken = findOpenApi(tree)
  if (mistaken !== null) return withoutContract(reject(locateIssues([mistaken], source, file), [ownSource]))
  const secrets = resolveFileReferences(tree, dirname(file))
  const included = assembleClientList(rawAt(secrets.tree, ['clients']), dirname(file), environment)
  const sources = [ownSource, ...secrets.sources, ...(included?.sources ?? [])]
  // Without the clients: zod, and each walk through the whole tree, would be slow with thousands of them.
  const result = configSchema.safeParse(included === null ? secrets.tree : withClients(secrets.tree, []))
  const clients = included === null ? null : validateClients(included.list)
  const completeTree = included === null ? secrets.tree : withClients(secrets.tree, included.list)
  const issues = [...yamlIssues, ...secrets.issues, ...(included?.issues ?? [])]
  if (!result.success) issues.push(...withoutRepeats(issuesFromZod(result.error.issues, secrets.tree), issues))
  issues.push(...withoutRepeats(clients?.issues ?? [], issues))
  issues.push(...withoutRepeats(validateCrossKeyRules(completeTree), issues))
  // Whatever else is wrong here: an operator mends both at once.
  const contractName = parseAt(secrets.tree, contractFileSchema, contractFilePath)
  const complete = (contract: LoadedContract): LoadResult => {
    const allSources = [...sources, ...contract.sources]
    const ofContract = contract.unreadable === null ? [] : [unreadableContract(contract.unreadable, contractName ?? '')]
    const ownIssues = dropCascadingIssues([...issues, ...ofContract], secrets.tree)
    const problems = [...locateInFiles(ownIssues, source, file, included), ...contract.problems]
    if (!result.success || problems.length > 0) return reject(problems, allSources)
    const listedClients = { clients: clients?.clients ?? [], parts: included?.parts ?? [] }
    const config = resolveConfig(result.data, listedClients, contract.contract)
    const ownWarnings = locateInFiles(collectWarnings(result.data, config), source, file, included)
    const warnings = [...ownWarnings, ...contract.warnings]
    const adminOfFileAlone = text.includes('${')
      ? parseAdmin(bytes, file, {})
      : { admin: config.admin, isGuessed: false }
    const statedAdminPort = adminOfFileAlone.isGuessed ? null : adminOfFileAlone.admin.port
    const report = reportConfig(config)
    const restartOnly = getRestartOnlySettings(report)
    const provenance = collectProvenance(source.locateStated)
    return { ok: true, config, report, restartOnly, provenance, warnings, sources: allSources, statedAdminPort }
  }
  return { contractName, complete }
}

const withoutContract = (result: LoadResult): OpenedConfig => ({ contractName: undefined, complete: () => result })

/** Finds that the file is a contract, given in place of the configuration; null: it is not. */
const findOpenApi = (tree: unknown): ConfigIssue | null =>
  valueAt(tree, ['openapi']) === undefined || valueAt(tree, ['upstreams']) !== undefined
    ? null
    : {
        path: ['openapi'],
        atKey: true,
        message: 'this is an OpenAPI document, and no configuration',
        expected: 'a configuration, which may name this file in contract.file',
        found: 'openapi',
        hint: 'check the configuration: that checks its contract too',
      }

export const noContract: LoadedContract = { contract: null, unreadable: null, problems: [], warnings: [], sources: [] }

const contractFilePath = ['contract', 'file']

const unreadableContract = (reason: string, name: string): ConfigIssue => ({
  path: contractFilePath,
  message: `the contract cannot be read: ${reason}`,
  expected: 'an OpenAPI document of at most 8MiB',
  found: quote(name),
  hint: `a relative path starts at the folder of this file; ${programCommand()} contract draft prints one`,
})

const withClients = (tree: unknown, clients: readonly unknown[]): unknown =>
  typeof tree === 'object' && tree !== null ? { ...tree, clients } : tree

const locateInFiles = (
  issues: readonly LocatableIssue[],
  source: YamlSource,
  file: string,
  included: ClientList | null,
): readonly ConfigProblem[] => {
  if (included === null) return locateIssues(issues, source, file)
  const { files, toFilePath } = included
  const inFiles = issues.map((issue) => {
    const { file: clientFile, path } = toFilePath(issue.path)
    return { clientFile, issue: { ...issue, path } }
  })
  const issuesIn = (wanted: ClientFile | null): readonly LocatableIssue[] =>
    inFiles.flatMap(({ clientFile, issue }) => (clientFile === wanted ? issue : []))
  return [
    ...locateIssues(issuesIn(null), source, file),
    ...files.flatMap((each) => [
      ...each.problems,
      ...locateIssues([...each.issues, ...issuesIn(each)], each, each.file),
    ]),
  ]
}

const reject = (problems: readonly ConfigProblem[], sources: readonly SourceFile[]): LoadResult => ({
  ok: false,
  problems,
  unreadable: false,
  sources,
})

/** Leaves out issues of a path with an earlier one: a value that could not be filled in is not also of a wrong type. */
const withoutRepeats = (later: readonly ConfigIssue[], earlier: readonly ConfigIssue[]): readonly ConfigIssue[] => {
  const known = new Set(earlier.filter(({ path }) => path.length > 0).map(({ path }) => formatKeyPath(path)))
  return later.filter(({ path }) => !known.has(formatKeyPath(path)))
}
