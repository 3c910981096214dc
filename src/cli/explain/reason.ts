import { catalog, type Operation } from '../../catalog.ts'
import type { ListenConfig } from '../../config/config.ts'
import { differenceOf } from '../../config/differs.ts'
import { METHODS } from '../../node-http.ts'
import { routes } from '../../public/admit.ts'
import { isHost, parseTarget } from '../../public/target.ts'
import { formatSize } from '../../units.ts'
import { type Arrival, bytesOf } from './arrive.ts'

/** Says, for people, what is wrong with a request that is refused, and what was probably meant. */
export interface Reason {
  readonly differs: readonly string[]
  readonly meant: Operation | null
  readonly hint: string
}

type Refused = Extract<Arrival, { admitted: false }>

/** Says why the gateway refuses a request; that it does, and with what, has been decided. `where` names a key and its line. */
export const reasonOf = (
  { kind }: Refused,
  method: string,
  target: string,
  listen: ListenConfig,
  where: (key: string) => string,
): Reason => {
  if (kind === 'uri-too-long') return tooLong(target, listen, where)
  const path = pathOf(target)
  const known = routes(listen.basePath).get(path)
  const guess =
    known === undefined
      ? differenceOf(path, { basePath: listen.basePath, baseKey: where('listen.basePath') })
      : { differs: [], meant: known }
  const meant = method === 'CONNECT' || target === '*' ? null : guess.meant
  const differs = [
    ...methodSaid(method, meant),
    ...(kind === 'bad-request' ? targetSaid(target) : []),
    ...(kind === 'misdirected' ? [`its host is none of those in ${where('listen.hosts')}`] : []),
    // Of a target that is no path at all, only what was meant is worth telling.
    ...(kind === 'not-found' || (target.startsWith('/') && meant !== null) ? guess.differs : []),
  ]
  const hint = meant === null ? 'send one of the nine' : `send ${meant.method} ${listen.basePath}${meant.path}`
  return { differs, meant, hint }
}

/** Lists what the gateway answers to, for a refusal that is near none of them. */
export const theNine = (basePath: string): readonly string[] =>
  catalog.map(({ method, path }) => `${method.padEnd(4)} ${basePath}${path}`)

const tooLong = (target: string, { maxTarget }: ListenConfig, where: (key: string) => string): Reason => ({
  differs: [
    `it has ${bytesOf(target).length} bytes, and at most ${formatSize(maxTarget)} are read: ${where('listen.maxTarget')}`,
  ],
  meant: null,
  hint: 'send a shorter one, or raise listen.maxTarget (at most 64KiB)',
})

const methodSaid = (method: string, meant: Operation | null): readonly string[] => {
  if (METHODS.includes(method)) {
    if (method === 'CONNECT') return ['CONNECT asks for a tunnel, and there is none']
    if (meant === null || meant.method === method) return []
    return [`${meant.path} takes ${meant.method} and nothing else, not ${method}`]
  }
  const upper = method.toUpperCase()
  if (METHODS.includes(upper)) return [`methods are case-sensitive (RFC 9110 §9.1): ${method} is not ${upper}`]
  return ['the method is none that the parser knows']
}

const targetSaid = (target: string): readonly string[] => {
  const said: string[] = []
  if (target.includes('#')) said.push('"#" stands in it, and a fragment is never sent (RFC 9112 §3.2.1)')
  if (target.includes(' ')) said.push('a blank stands in it, and must be escaped: %20')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  if (/[\0-\x1f\x7f]/.test(target)) said.push('a control character stands in it')
  const [beyond] = /[^\0-\x7f]/u.exec(target) ?? []
  if (beyond !== undefined) said.push(`"${beyond}" is beyond ASCII, and must be escaped: ${encodeURIComponent(beyond)}`)
  if (target === '*') said.push('"*" asks about the server as a whole, which is none of the nine')
  else if (!target.startsWith('/')) said.push(...formSaid(target))
  return said
}

/** Says what is wrong with a target that is not a path. */
const formSaid = (target: string): readonly string[] => {
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(target) ?? []
  if (scheme === '') return ['it begins with no slash']
  if (!/^https?$/i.test(scheme)) return [`${scheme}:// is not http:// or https://`]
  if (authority.includes('@')) return ['a user name or a password stands in it']
  return isHost(authority) ? [] : ['http:// is not followed by a host']
}

/** Finds the path in a target, also in one that the gateway does not read. */
const pathOf = (target: string): string => {
  const [line = ''] = target.trim().split(/[\r\n]| HTTP\//) // what follows would be another line, not a path
  const parsed = parseTarget(bytesOf(line))
  if (parsed !== null) return parsed.path
  const [path = ''] = line.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split(/[?#]/)
  return path.startsWith('/') ? path : `/${path}`
}
