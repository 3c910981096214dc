import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import { isMap, isNode } from 'yaml'
import type * as z from 'zod'
import { deepFreeze } from '../../lib/plain-object.ts'
import type { AdminConfig } from '../config.ts'
import { configSchema } from '../config-schema.ts'
import { type Environment, substituteVariables } from '../environment.ts'
import { formatKeyPath } from '../problem.ts'
import { maxAliases } from '../yaml/syntax-issues.ts'
import { parseYamlSource } from '../yaml/yaml-document.ts'
import { resolveFileReferences } from './file-references.ts'
import { isReadError, maxConfigBytes, readFileWithLimit } from './source-files.ts'

/** The admin section of a file that may be broken. */
interface AdminLoadResult {
  readonly admin: AdminConfig
  /** Why built-in values stand for some or all of it; null: all is as the file says. */
  readonly reason: string | null
  /** Whether its address is built in, because the file could not be read that far. */
  readonly isGuessed: boolean
  readonly isUnreadable: boolean
}

/**
 * Reads the admin section of a file in which only `admin` need be sound: the running gateway may have an older one.
 * Each key that cannot be read has its built-in value, and `reason` names it. Never throws.
 */
export function loadAdmin(file: string, environment: Environment = process.env): AdminLoadResult {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  return isReadError(bytes)
    ? { ...builtInAdmin(`${file} cannot be read: ${bytes.reason}`), isUnreadable: !bytes.readable }
    : parseAdmin(bytes, file, environment)
}

export function parseAdmin(bytes: Uint8Array, file: string, environment: Environment): AdminLoadResult {
  if (!isUtf8(bytes)) return builtInAdmin(`${file} is not UTF-8`)
  const { document, usable } = parseYamlSource(new TextDecoder().decode(bytes))
  // The warnings of the library would quote the file.
  document.options.logLevel = 'silent'
  const unfilled = new Set(substituteVariables(document, environment).map(({ path }) => formatKeyPath(path)))
  // After a syntax error the parser goes on as well as it can. Half an address is better than none for the operator's
  // command.
  const top: unknown = document.contents
  const node: unknown = isMap(top) ? top.get('admin', true) : undefined
  if (!isNode(node) && !usable) return builtInAdmin(`${file} has errors of syntax`)
  // No gateway runs such a file: it was cut short, say, and the one that is meant may listen elsewhere.
  if (!isMap(top)) return builtInAdmin(`${file} is empty, or no map`)
  if (!isNode(node)) return builtInAdmin(null)
  try {
    const section: unknown = node.toJS(document, { maxAliasCount: maxAliases + 1 })
    // Without the rest of the tree: an operator command has no business with the secrets of upstreams.
    const { tree: filled, issues } = resolveFileReferences({ admin: section }, dirname(file))
    for (const { path } of issues) unfilled.add(formatKeyPath(path))
    return selectSoundKeys(Object(filled).admin, unfilled, file)
  } catch {
    return builtInAdmin(`admin in ${file} has aliases that cannot be followed`)
  }
}

const schema = configSchema.shape.admin
const { shape } = schema.unwrap()
const parse = (section: object) => deepFreeze(schema.parse(section) as object as AdminConfig)
const defaults = parse({})

/** `unfilled` are the paths of values that could not be filled in. */
function selectSoundKeys(section: unknown, unfilled: ReadonlySet<string>, file: string): AdminLoadResult {
  if (typeof section !== 'object' || section === null || Array.isArray(section))
    return builtInAdmin(`admin in ${file} is no map`)
  const stated = new Map(Object.entries(section))
  const isFilledIn = (path: string): boolean =>
    ![...unfilled].some((each) => each === path || each.startsWith(`${path}.`) || each.startsWith(`${path}[`))
  const sound = new Map<string, unknown>()
  const broken: string[] = []
  for (const [key, keySchema] of Object.entries<z.ZodType>(shape)) {
    const path = `admin.${key}`
    if (isFilledIn(path) && keySchema.safeParse(stated.get(key)).success) sound.set(key, stated.get(key))
    else broken.push(path)
  }
  const admin = parse(Object.fromEntries(sound))
  // The reason never quotes a value: a token may be in it.
  const reason = broken.length === 0 ? null : `${broken.join(', ')} in ${file} cannot be used; see: check ${file}`
  const isGuessed = broken.includes('admin.host') || broken.includes('admin.port')
  return { admin, reason, isGuessed, isUnreadable: false }
}

const builtInAdmin = (reason: string | null): AdminLoadResult => ({
  admin: defaults,
  reason,
  isGuessed: reason !== null,
  isUnreadable: false,
})
