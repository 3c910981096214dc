import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import type { Config } from './config.ts'
import { crossFindings } from './cross-checks.ts'
import { parseSource, type Source } from './document.ts'
import { doubtsAbout } from './doubts.ts'
import { type Environment, substitute } from './environment.ts'
import { type Origins, originsOf } from './origins.ts'
import { type Finding, formatPath, type Placed, type Problem } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { resolve } from './resolve.ts'
import { configSchema } from './schema.ts'
import { readSecrets } from './secrets.ts'
import { maxFileBytes, type SourceFile, sourceOf } from './sources.ts'
import { maxAliases, tooManyAliases } from './syntax.ts'
import { findingsOf } from './validate.ts'

/** Problems beyond this many are only counted: to place each one takes a walk through the file. */
const maxProblems = 1000

/** Tells a file that can run from one that cannot, and why. */
export type LoadResult =
  | {
      readonly ok: true
      readonly config: Config
      /** Says for each value which level won, and where. */
      readonly origins: Origins
      /** What works, but was probably not meant. */
      readonly warnings: readonly Problem[]
      readonly sources: readonly SourceFile[]
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
  const bytes = readBounded(file, maxFileBytes)
  if (!isUnread(bytes)) return parseConfig(bytes, file, environment)
  const message = `the file cannot be read: ${bytes.reason}`
  const problem = whole(file, message, 'a YAML file of at most 1MiB', bytes.reason)
  const sources = [sourceOf(file, null, maxFileBytes)]
  return { ok: false, problems: [problem], unreadable: !bytes.readable, sources }
}

/** Does what {@link loadConfig} does, with the bytes of the file in hand; `file` names it and anchors relative names. */
export function parseConfig(bytes: Uint8Array, file: string, environment: Environment): LoadResult {
  const own = sourceOf(file, bytes, maxFileBytes)
  if (!isUtf8(bytes)) return refuse([notUtf8(bytes, file)], [own])
  const source = parseSource(new TextDecoder().decode(bytes))
  const findings: Placed[] = [...source.findings]
  const done = (sources = [own]): LoadResult => refuse(placed(findings, source, file), sources)
  if (!source.usable) return done()
  if (source.document.contents === null) {
    return refuse([whole(file, 'the file is empty', 'a map with the key upstreams', 'nothing')], [own])
  }

  findings.push(...substitute(source.document, environment))
  const raw = toTree(source)
  if (raw === undefined) {
    if (findings.length === 0) findings.push({ path: [], ...tooManyAliases })
    return done()
  }
  const secrets = readSecrets(raw.tree, dirname(file))
  const sources = [own, ...secrets.sources]
  findings.push(...secrets.findings)
  const result = configSchema.safeParse(secrets.tree)
  if (!result.success) findings.push(...news(findingsOf(result.error.issues, secrets.tree), findings))
  findings.push(...news(crossFindings(secrets.tree), findings))
  if (!result.success || findings.length > 0) return done(sources)
  const config = resolve(result.data)
  const warnings = placed(doubtsAbout(result.data, config), source, file)
  return { ok: true, config, origins: originsOf(source.find), warnings, sources }
}

const refuse = (problems: readonly Problem[], sources: readonly SourceFile[]): LoadResult => ({
  ok: false,
  problems,
  unreadable: false,
  sources,
})

/** Turns the document into plain values; undefined when its aliases unfold into too much or into nothing. */
function toTree({ document }: Source): { readonly tree: unknown } | undefined {
  try {
    // The parser counts the anchor as well.
    return { tree: document.toJS({ maxAliasCount: maxAliases + 1 }) }
  } catch {
    return undefined
  }
}

/** Leaves out what repeats an earlier finding: a value that could not be filled in is not also of the wrong type. */
const news = (later: readonly Finding[], earlier: readonly Finding[]): readonly Finding[] => {
  const known = new Set(earlier.filter(({ path }) => path.length > 0).map(({ path }) => formatPath(path)))
  return later.filter(({ path }) => !known.has(formatPath(path)))
}

function placed(findings: readonly Placed[], source: Source, file: string): readonly Problem[] {
  const problems = findings.slice(0, maxProblems).map(({ path, atKey, offset, hint, ...told }): Problem => {
    const position = offset === undefined ? source.locate(path, atKey) : source.at(offset)
    const problem = { file, ...position, path: formatPath(path), ...told }
    return hint === undefined ? problem : { ...problem, hint }
  })
  problems.sort((a, b) => a.line - b.line || a.column - b.column)
  const [last] = problems.slice(-1)
  const more = findings.length - problems.length
  if (last === undefined || more === 0) return problems
  const rest = whole(file, `${more} more problems are not shown`, `at most ${maxProblems}`, `${findings.length}`)
  return [...problems, { ...rest, line: last.line, column: last.column }]
}

const whole = (file: string, message: string, expected: string, found: string): Problem => ({
  file,
  line: 1,
  column: 1,
  path: '',
  expected,
  found,
  message,
})

function notUtf8(bytes: Uint8Array, file: string): Problem {
  let line = 1
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1 && isUtf8(bytes.subarray(start, end)); end = bytes.indexOf(10, start)) {
    start = end + 1
    line++
  }
  return { ...whole(file, 'the file is not UTF-8', 'text in UTF-8', 'other bytes'), line, hint: 'save it as UTF-8' }
}
