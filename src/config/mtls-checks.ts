import { asksForCertificates, childAt, methodLists } from './auth-places.ts'
import { authorityFindings } from './certificate.ts'
import type { Finding, Path } from './problem.ts'
import { mtls } from './schema/auth.ts'
import { readCertificateName } from './schema/clients.ts'
import { External } from './schema/scalar.ts'

const base: Path = ['auth', 'mtls']

/** Checks that certificates of clients can come, from where they shall, and that whoever issues them is known where a name in one counts. */
export function mtlsFindings(tree: unknown): readonly Finding[] {
  const names = namesIn(tree)
  const { data } = mtls.safeParse(childAt(tree, base) ?? {})
  if (data === undefined) return twice(names)
  const authority = childAt(tree, [...base, 'ca'])
  return [
    ...twice(names),
    ...(data.ca === null ? [] : authorityFindings([...base, 'ca'], data.ca)),
    ...(data.from === 'client-cert' ? [...proxyless(tree), ...(data.ca === null ? baseless(names) : [])] : []),
    ...(data.from === 'connection' && data.ca !== null && authority !== undefined ? [idleAuthority] : []),
    ...(data.from === 'connection' ? unasked(tree) : []),
  ]
}

const idleAuthority: Finding = {
  path: [...base, 'ca'],
  message: 'certificates of connections are judged by listen.tls.clientCa',
  expected: 'from: client-cert beside it',
  found: 'from: connection',
  hint: 'add from: client-cert, or remove ca',
}

/** A method that nobody can use is told of where it is asked for. */
function unasked(tree: unknown): readonly Finding[] {
  if (asksForCertificates(tree)) return []
  return methodLists(tree).flatMap(({ path, names }) => {
    const index = names.indexOf('mtls')
    if (index === -1) return []
    return [
      {
        path: [...path, index],
        message: 'no client is asked for a certificate',
        expected: 'listen.tls.clientCertificates: optional or required',
        found: 'none',
        hint: 'set listen.tls.clientCertificates and clientCa, or auth.mtls.from: client-cert behind a proxy',
      },
    ]
  })
}

function proxyless(tree: unknown): readonly Finding[] {
  const proxies = childAt(tree, ['listen', 'trustedProxies'])
  if (proxies !== undefined && !(Array.isArray(proxies) && proxies.length === 0)) return []
  return [
    {
      path: [...base, 'from'],
      message: 'nobody is believed what stands in Client-Cert',
      expected: 'the addresses of the proxies in listen.trustedProxies',
      found: 'no trustedProxies',
      hint: 'add trustedProxies under listen, or write from: connection',
    },
  ]
}

/** Is the name of a client's certificate, and where it stands. */
interface Named {
  readonly name: string
  readonly path: () => Path
}

/** Lists those that can be read. Of thousands of clients, so no schema is asked. */
function namesIn(tree: unknown): readonly Named[] {
  const clients = childAt(tree, ['clients'])
  return (Array.isArray(clients) ? clients : []).flatMap((client: unknown, at) => {
    const listed = childAt(client, ['certificates'])
    return (Array.isArray(listed) ? listed : []).flatMap((each: unknown, index): readonly Named[] => {
      const text = each instanceof External ? each.text : each
      const name = typeof text === 'string' ? readCertificateName(text) : null
      return typeof name === 'string' ? [{ name, path: () => ['clients', at, 'certificates', index] }] : []
    })
  })
}

/** Anybody can write a name into a certificate: it is worth as much as whoever has signed that. */
const baseless = (names: readonly Named[]): readonly Finding[] =>
  names
    .filter(({ name }) => !name.startsWith('sha256:'))
    .map(({ path }) => ({
      path: path(),
      message: 'nothing says whose word counts for this name',
      expected: 'auth.mtls.ca, or sha256: and the fingerprint of the certificate',
      found: 'a name, and no auth.mtls.ca',
      hint: 'add ca: file:PATH under auth.mtls, the authorities that issue certificates of clients',
    }))

const twice = (names: readonly Named[]): readonly Finding[] => {
  const seen = new Set<string>()
  return names.flatMap(({ name, path }): readonly Finding[] => {
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    const told = { message: 'this certificate stands here already', expected: 'each once', found: 'it twice' }
    return [{ path: path(), ...told, hint: 'remove one of them' }]
  })
}
