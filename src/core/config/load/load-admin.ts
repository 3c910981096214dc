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

interface AdminLoadResult {
  readonly admin: AdminConfig
  /** Why some or all values are built in; null: all come from the file. */
  readonly reason: string | null
  /** The address is built in: the file could not be read that far. */
  readonly isGuessed: boolean
  readonly isUnreadable: boolean
}

/** Other sections may be broken. An unusable key gets its built-in value, and `reason` names it. Never throws. */
export function loadAdmin(file: string, environment: Environment = process.env): AdminLoadResult {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  return isReadError(bytes)
    ? { ...builtInAdmin(`${file} cannot be read: ${bytes.reason}`), isUnreadable: !bytes.readable }
    : parseAdmin(bytes, file, environment)
}

export function parseAdmin(bytes: Uint8Array, file: string, environment: Environment): AdminLoadResult {
  if (!isUtf8(bytes)) return builtInAdmin(`${file} is not UTF-8`)
  const { document, usable } = parseYamlSource(new TextDecoder().decode(bytes))
  // The yaml library's warnings would quote the file.
  document.options.logLevel = 'silent'
  const unfilled = new Set(substituteVariables(document, environment).map(({ path }) => formatKeyPath(path)))
  // After a syntax error the parser continues: half an address is better than none for the operator's command.
  const top: unknown = document.contents
  const node: unknown = isMap(top) ? top.get('admin', true) : undefined
  if (!isNode(node) && !usable) return builtInAdmin(`${file} has errors of syntax`)
  // No gateway runs such a file: it may be cut short, and the running gateway may listen elsewhere.
  if (!isMap(top)) return builtInAdmin(`${file} is empty, or no map`)
  if (!isNode(node)) return builtInAdmin(null)
  try {
    const section: unknown = node.toJS(document, { maxAliasCount: maxAliases + 1 })
    // Only `admin`: an operator command needs no secrets of upstreams.
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
  // The reason never quotes a value: it may be a token.
  const reason = broken.length === 0 ? null : `${broken.join(', ')} in ${file} cannot be used; see: check ${file}`
  const isGuessed = broken.includes('admin.host') || broken.includes('admin.port')
  return { admin, reason, isGuessed, isUnreadable: false }
}

const builtInAdmin = (reason: string | null): AdminLoadResult => {
  return { admin: defaults, reason, isGuessed: reason !== null, isUnreadable: false }
}
