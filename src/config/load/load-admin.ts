import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import { isMap, isNode } from 'yaml'
import type * as z from 'zod'
import type { AdminConfig } from '../config.ts'
import { configSchema } from '../config-schema.ts'
import { deepFreeze } from '../deep-freeze.ts'
import { type Environment, substituteVariables } from '../environment.ts'
import { formatKeyPath } from '../problem.ts'
import { maxAliases } from '../yaml/syntax-issues.ts'
import { parseYamlSource } from '../yaml/yaml-document.ts'
import { resolveFileReferences } from './file-references.ts'
import { isReadError, readFileWithLimit } from './read-file.ts'
import { maxConfigBytes } from './source-files.ts'

/** Is what a file tells of the operator's listener, and why not more. */
export interface AdminLoadResult {
  readonly admin: AdminConfig
  /** Why what is built in stands for some or all of it; null: all is as the file says. */
  readonly reason: string | null
  /** Whether its address is not the file's word but what is built in, because the file could not be read so far. */
  readonly isGuessed: boolean
}

/**
 * Reads where the operator's listener is from a file of which nothing but `admin` need be sound: the gateway that is asked for may run
 * on an older one. What cannot be read, key by key, is as built in, and `reason` says so. Never throws.
 */
export function loadAdmin(file: string, environment: Environment = process.env): AdminLoadResult {
  const bytes = readFileWithLimit(file, maxConfigBytes)
  return isReadError(bytes)
    ? builtInAdmin(`${file} cannot be read: ${bytes.reason}`)
    : parseAdmin(bytes, file, environment)
}

/** Does what {@link loadAdmin} does, with the bytes of the file in hand. */
export function parseAdmin(bytes: Uint8Array, file: string, environment: Environment): AdminLoadResult {
  if (!isUtf8(bytes)) return builtInAdmin(`${file} is not UTF-8`)
  const { document, usable } = parseYamlSource(new TextDecoder().decode(bytes))
  // What the library would warn of, it quotes.
  document.options.logLevel = 'silent'
  const unfilled = new Set(substituteVariables(document, environment).map(({ path }) => formatKeyPath(path)))
  // After an error of syntax the parser goes on as well as it can. To take half a word from it is better than to ask nobody.
  const node: unknown = isMap(document.contents) ? document.contents.get('admin', true) : undefined
  if (!isNode(node)) return builtInAdmin(usable ? null : `${file} has errors of syntax`)
  try {
    const section: unknown = node.toJS(document, { maxAliasCount: maxAliases + 1 })
    // Without the rest of the tree: the secrets of upstreams are not this command's to read.
    const { tree: filled, issues } = resolveFileReferences({ admin: section }, dirname(file))
    for (const { path } of issues) unfilled.add(formatKeyPath(path))
    return selectSoundKeys(Object(filled).admin, unfilled, file)
  } catch {
    return builtInAdmin(`admin in ${file} has aliases that cannot be followed`)
  }
}

const schema = configSchema.shape.admin
const { shape } = schema.unwrap()
const defaults: AdminConfig = deepFreeze(schema.parse({}))

/** Takes the keys that are sound; `unfilled` are the paths of values that could not be filled in. */
function selectSoundKeys(section: unknown, unfilled: ReadonlySet<string>, file: string): AdminLoadResult {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    return builtInAdmin(`admin in ${file} is no map`)
  }
  const stated = new Map(Object.entries(section))
  const isFilledIn = (path: string): boolean =>
    ![...unfilled].some((each) => each === path || each.startsWith(`${path}.`) || each.startsWith(`${path}[`))
  const sound = new Map<string, unknown>()
  const broken: string[] = []
  for (const [key, each] of Object.entries<z.ZodType>(shape)) {
    const path = `admin.${key}`
    if (isFilledIn(path) && each.safeParse(stated.get(key)).success) sound.set(key, stated.get(key))
    else broken.push(path)
  }
  const admin: AdminConfig = deepFreeze(schema.parse(Object.fromEntries(sound)))
  // Never what the value is: a token may be in it.
  const reason = broken.length === 0 ? null : `${broken.join(', ')} in ${file} cannot be used; see: check ${file}`
  const isGuessed = broken.includes('admin.host') || broken.includes('admin.port')
  return { admin, reason, isGuessed }
}

const builtInAdmin = (reason: string | null): AdminLoadResult => ({
  admin: defaults,
  reason,
  isGuessed: reason !== null,
})
