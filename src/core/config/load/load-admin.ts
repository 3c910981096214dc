import { isUtf8 } from 'node:buffer'
import { dirname } from 'node:path'
import { isMap, isNode } from 'yaml'
import { isPlainObject, ownMember } from '../../lib/plain-object.ts'
import { type Environment, substituteVariables } from '../environment.ts'
import { formatKeyPath } from '../problem.ts'
import { certificateKind, defaultAdminAddress, hostKind, integerKind, portRange, tokenKind } from '../schema/kinds.ts'
import { ExternalValue, InvalidScalar, parseScalar } from '../schema/scalar-kind.ts'
import { maxAliases } from '../yaml/syntax-issues.ts'
import { parseYamlSource } from '../yaml/yaml-document.ts'
import { type ReferenceKey, resolveFileReferences } from './file-references.ts'
import { isReadError, maxConfigBytes, readFileWithLimit } from './source-files.ts'

interface AdminSection {
  readonly host: string
  readonly port: number
  readonly token: string | null
  readonly tls: { readonly certificate: string } | null
}

interface AdminLoadResult extends AdminSection {
  /** Null: all values come from the file. */
  readonly reason: string | null
  readonly isGuessed: boolean
  readonly isUnreadable: boolean
}

/**
 * Loads neither the schema nor features, because a command waits for this. The rest of the file may be broken. An
 * unusable key gets its built-in value, and `reason` names it. Never throws.
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
  // Warnings would quote the file.
  document.options.logLevel = 'silent'
  const unfilled = new Set(substituteVariables(document, environment).map(({ path }) => formatKeyPath(path)))
  // After a syntax error the parser continues: the command uses the part of the address that was read.
  const top: unknown = document.contents
  const node: unknown = isMap(top) ? top.get('admin', true) : undefined
  if (!isNode(node) && !usable) return builtInAdmin(`${file} has syntax errors`)
  // The file may be cut short, and the running gateway may listen elsewhere.
  if (!isMap(top)) return builtInAdmin(`${file} is empty, or is not a map`)
  if (!isNode(node)) return builtInAdmin(null)
  try {
    const section: unknown = node.toJS(document, { maxAliasCount: maxAliases + 1 })
    // Resolves files for `admin` alone: an operator's command may not read secrets of upstreams.
    const { tree: filled, issues } = resolveFileReferences({ admin: section }, dirname(file), referenceKeys)
    for (const { path } of issues) unfilled.add(formatKeyPath(path))
    return selectSoundKeys(Object(filled).admin, unfilled, file)
  } catch {
    return builtInAdmin(`admin in ${file} has aliases that cannot be resolved`)
  }
}

const referenceKeys: readonly ReferenceKey[] = [
  { path: ['admin', 'token'], file: 'line' },
  { path: ['admin', 'tls', 'certificate'], file: 'lines' },
]

const defaults: AdminSection = { ...defaultAdminAddress, token: null, tls: null }

const parsers: { readonly [Key in keyof AdminSection]: (value: unknown) => AdminSection[Key] | InvalidScalar } = {
  host: (value) => parseScalar(hostKind, value),
  port: (value) => parseScalar(integerKind(portRange), value),
  token: (value) => parseScalar(tokenKind, value),
  tls: (value) => {
    const certificate = parseScalar(certificateKind, Object(value).certificate)
    return certificate instanceof InvalidScalar ? certificate : { certificate }
  },
}

function selectSoundKeys(section: unknown, unfilled: ReadonlySet<string>, file: string): AdminLoadResult {
  if (!isPlainObject(section) || section instanceof ExternalValue) return builtInAdmin(`admin in ${file} is not a map`)
  const broken: string[] = []
  const take = <Key extends keyof AdminSection>(key: Key, needed = `admin.${key}`): AdminSection[Key] => {
    const value = ownMember(section, key)
    const parsed = unfilled.has(needed)
      ? new InvalidScalar('unknown')
      : value === undefined
        ? defaults[key]
        : parsers[key](value)
    if (!(parsed instanceof InvalidScalar)) return parsed
    broken.push(`admin.${key}`)
    return defaults[key]
  }
  const admin: AdminSection = {
    host: take('host'),
    port: take('port'),
    token: take('token'),
    tls: take('tls', 'admin.tls.certificate'),
  }
  // Never quotes a value, which may be a token.
  const reason =
    broken.length === 0 ? null : `${broken.join(', ')} in ${file} cannot be used; see: lender-gateway check ${file}`
  const isGuessed = broken.includes('admin.host') || broken.includes('admin.port')
  return { ...admin, reason, isGuessed, isUnreadable: false }
}

const builtInAdmin = (reason: string | null): AdminLoadResult => ({
  ...defaults,
  reason,
  isGuessed: reason !== null,
  isUnreadable: false,
})
