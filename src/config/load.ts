import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import type { ClientFile } from './client-file.ts'
import { type ClientList, checkedClients, listClients } from './client-list.ts'
import type { Config } from './config.ts'
import type { ConfigReport } from './diff.ts'
import { parseSource, type Source, treeOf } from './document.ts'
import { withoutEchoes } from './echoes.ts'
import type { Environment } from './environment.ts'
import { deepFreeze } from './freeze.ts'
import { readAdmin } from './load-admin.ts'
import { type Origins, originsOf } from './origins.ts'
import { notUtf8, placed } from './placed.ts'
import { type Finding, formatPath, type Placed, type Problem, whole } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { type Fixed, fixedIn, report } from './report.ts'
import { resolve } from './resolve.ts'
import { crossFindings } from './rules/checks.ts'
import { doubtsAbout } from './rules/doubts.ts'
import { childAt } from './rules/rule.ts'
import { configSchema } from './schema.ts'
import { readSecrets } from './secrets.ts'
import { maxFileBytes, type SourceFile, sourceOf } from './sources.ts'
import { findingsOf } from './validate.ts'

/** Tells a file that can run from one that cannot, and why. */
export type LoadResult =
  | {
      readonly ok: true
      readonly config: Config
      /** What may be shown of it. */
      readonly report: ConfigReport
      /** What of it needs a restart to be another. */
      readonly fixed: Fixed
      /** Says for each value which level won, and where. */
      readonly origins: Origins
      /** What works, but was probably not meant. */
      readonly warnings: readonly Problem[]
      readonly sources: readonly SourceFile[]
      /** The port of the operators as the file alone says it, without variables; null: it leaves that open. */
      readonly statedAdminPort: number | null
    }
  | {
      readonly ok: false
      readonly problems: readonly Problem[]
      /** Whether the file could not be read at all. */
      readonly unreadable: boolean
      /** The files that were read, or should have been: this one first, then those that it refers to. */
      readonly sources: readonly SourceFile[]
    }

/** Loads a configuration file: reads, parses, fills in the environment and secrets, validates, resolves. Never throws. */
export function loadConfig(file: string, environment: Environment = process.env): LoadResult {
  return frozen(readConfig(file, environment))
}

/** Does what {@link loadConfig} does for another thread: what is made here is copied, and frozen there. */
export function readConfig(file: string, environment: Environment): LoadResult {
  const bytes = readBounded(file, maxFileBytes)
  if (!isUnread(bytes)) return parse(bytes, file, environment)
  const message = `the file cannot be read: ${bytes.reason}`
  const problem = whole(file, message, 'a YAML file of at most 1MiB', bytes.reason)
  const sources = [sourceOf(file, null, maxFileBytes)]
  return { ok: false, problems: [problem], unreadable: !bytes.readable, sources }
}

/** Does what {@link loadConfig} does, with the bytes of the file in hand; `file` names it and anchors relative names. */
export function parseConfig(bytes: Uint8Array, file: string, environment: Environment): LoadResult {
  return frozen(parse(bytes, file, environment))
}

const frozen = (result: LoadResult): LoadResult =>
  result.ok ? { ...result, config: deepFreeze(result.config) } : result

function parse(bytes: Uint8Array, file: string, environment: Environment): LoadResult {
  const own = sourceOf(file, bytes, maxFileBytes)
  if (!isUtf8(bytes)) return refuse([notUtf8(bytes, file)], [own])
  const text = new TextDecoder().decode(bytes)
  const source = parseSource(text)
  if (source.usable && source.document.contents === null) {
    return refuse([whole(file, 'the file is empty', 'a map with the key upstreams', 'nothing')], [own])
  }

  const { tree, findings } = treeOf(source, environment)
  if (tree === undefined) return refuse(placed(findings, source, file), [own])
  const secrets = readSecrets(tree, dirname(file))
  const included = listClients(childAt(secrets.tree, ['clients']), dirname(file), environment)
  const sources = [own, ...secrets.sources, ...(included?.files ?? []).map((each) => each.source)]
  // Thousands of clients are not for zod, nor for whatever walks through the whole tree.
  const result = configSchema.safeParse(included === null ? secrets.tree : withClients(secrets.tree, []))
  const clients = included === null ? null : checkedClients(included.list)
  const full = included === null ? secrets.tree : withClients(secrets.tree, included.list)
  const found = [...findings, ...secrets.findings, ...(included?.findings ?? [])]
  if (!result.success) found.push(...news(findingsOf(result.error.issues, secrets.tree), found))
  found.push(...news(clients?.findings ?? [], found))
  found.push(...news(crossFindings(full), found))
  const problems = inPlace(withoutEchoes(found, secrets.tree), source, file, included)
  if (!result.success || problems.length > 0) return refuse(problems, sources)
  const config = resolve(result.data, { clients: clients?.clients ?? [], parts: included?.parts ?? [] })
  const warnings = inPlace(doubtsAbout(result.data, config), source, file, included)
  const alone = text.includes('${') ? readAdmin(bytes, file, {}) : { admin: config.admin, isGuessed: false }
  const statedAdminPort = alone.isGuessed ? null : alone.admin.port
  const reported = report(config)
  const origins = originsOf(source.find)
  return { ok: true, config, report: reported, fixed: fixedIn(reported), origins, warnings, sources, statedAdminPort }
}

const withClients = (tree: unknown, clients: readonly unknown[]): unknown =>
  typeof tree === 'object' && tree !== null ? { ...tree, clients } : tree

/** Tells each finding with the file that it is of: this one, or one that it includes. */
const inPlace = (
  findings: readonly Placed[],
  source: Source,
  file: string,
  included: ClientList | null,
): readonly Problem[] => {
  if (included === null) return placed(findings, source, file)
  const { files, placeOf } = included
  const all = findings.map((finding) => {
    const { file: of, path } = placeOf(finding.path)
    return { of, finding: { ...finding, path } }
  })
  const of = (each: ClientFile | null): readonly Placed[] => all.flatMap((one) => (one.of === each ? one.finding : []))
  return [
    ...placed(of(null), source, file),
    ...files.flatMap((each) => [...each.problems, ...placed([...each.findings, ...of(each)], each, each.file)]),
  ]
}

const refuse = (problems: readonly Problem[], sources: readonly SourceFile[]): LoadResult => ({
  ok: false,
  problems,
  unreadable: false,
  sources,
})

/** Leaves out what repeats an earlier finding: a value that could not be filled in is not also of the wrong type. */
const news = (later: readonly Finding[], earlier: readonly Finding[]): readonly Finding[] => {
  const known = new Set(earlier.filter(({ path }) => path.length > 0).map(({ path }) => formatPath(path)))
  return later.filter(({ path }) => !known.has(formatPath(path)))
}
