import { authorityFindings } from '../certificate.ts'
import type { Path } from '../problem.ts'
import { authSchema, mtls } from '../schema/auth.ts'
import { readCertificateName } from '../schema/clients.ts'
import { External } from '../schema/scalar.ts'
import { asksForCertificates, type Check, childAt, type Found, isOnAt, listAt, methodLists } from './rule.ts'

const base: Path = ['auth', 'mtls']

/** Certificates of clients can come, from where they shall, and the authority that issues them is known where a name in one counts. */
export const mtlsChecks: Check = (tree) => {
  const names = namesIn(tree)
  const { data } = mtls.safeParse(childAt(tree, base) ?? {})
  if (data === undefined) return twice(names)
  const { ca, from } = data
  return [
    twice(names),
    ca !== null && authorityFindings([...base, 'ca'], ca),
    from === 'client-cert' && proxyless(tree),
    from === 'client-cert' && ca === null && baseless(names),
    from === 'connection' &&
      ca !== null &&
      childAt(tree, [...base, 'ca']) !== undefined && {
        path: [...base, 'ca'],
        message: 'certificates of connections are judged by listen.tls.clientCa',
        expected: 'from: client-cert beside it',
        found: 'from: connection',
        hint: 'add from: client-cert, or remove ca',
      },
    from === 'connection' && !asksForCertificates(tree) && unasked(tree),
  ]
}

/** A method that nobody can use is told of where it is asked for. */
const unasked: Check = (tree) =>
  methodLists(tree).map(
    ({ path, names }) =>
      names.includes('mtls') && {
        path: [...path, names.indexOf('mtls')],
        message: 'no client is asked for a certificate',
        expected: 'listen.tls.clientCertificates: optional or required',
        found: 'none',
        hint: 'set listen.tls.clientCertificates and clientCa, or auth.mtls.from: client-cert behind a proxy',
      },
  )

const proxyless: Check = (tree) => {
  const proxies = childAt(tree, ['listen', 'trustedProxies'])
  if (proxies !== undefined && !(Array.isArray(proxies) && proxies.length === 0)) return null
  return {
    path: [...base, 'from'],
    message: 'nobody is believed what stands in Client-Cert',
    expected: 'the addresses of the proxies in listen.trustedProxies',
    found: 'no trustedProxies',
    hint: 'add trustedProxies under listen, or write from: connection',
  }
}

/** The name of a client's certificate, and where it stands. */
interface Named {
  readonly name: string
  readonly path: () => Path
}

/** Lists those that can be read. Of thousands of clients, so no schema is asked. */
const namesIn = (tree: unknown): readonly Named[] =>
  listAt(tree, ['clients']).flatMap((client, at) =>
    listAt(client, ['certificates']).flatMap((each, index): readonly Named[] => {
      const text = each instanceof External ? each.text : each
      const name = typeof text === 'string' ? readCertificateName(text) : null
      return typeof name === 'string' ? [{ name, path: () => ['clients', at, 'certificates', index] }] : []
    }),
  )

/** Anybody can write a name into a certificate: it is worth as much as whoever has signed that. */
const baseless = (names: readonly Named[]): Found =>
  names.map(
    ({ name, path }) =>
      !name.startsWith('sha256:') && {
        path: path(),
        message: 'nothing says whose word counts for this name',
        expected: 'auth.mtls.ca, or sha256: and the fingerprint of the certificate',
        found: 'a name, and no auth.mtls.ca',
        hint: 'add ca: file:PATH under auth.mtls, the authorities that issue certificates of clients',
      },
  )

const twice = (names: readonly Named[]): Found => {
  const seen = new Set<string>()
  return names.map(({ name, path }) => {
    const isSeen = seen.has(name)
    seen.add(name)
    return (
      isSeen && {
        path: path(),
        message: 'this certificate stands here already',
        expected: 'each once',
        found: 'it twice',
        hint: 'remove one of them',
      }
    )
  })
}

/** What tokens have to be bound to can be shown, and what is said of proofs is needed for some. */
export const boundChecks: Check = (tree) => {
  const { data } = authSchema.safeParse(childAt(tree, ['auth']) ?? 'none')
  if (!data) return null
  const { dpop } = data
  const takesTokens = methodLists(tree).some(({ names }) => names.includes('jwt') || names.includes('introspection'))
  const isRequired = data.bound === 'required'
  const hasCertificates = data.mtls.from === 'client-cert' || asksForCertificates(tree)
  return [
    isRequired && !takesTokens && tokenless('bound'),
    dpop !== null && !takesTokens && tokenless('dpop'),
    isRequired &&
      takesTokens &&
      dpop === null &&
      !hasCertificates && {
        path: ['auth', 'bound'],
        message: 'nobody can show what a token is bound to: neither a certificate nor a proof is taken',
        expected: 'auth.dpop, or listen.tls.clientCertificates: optional or required',
        found: 'required, and neither',
        hint: 'add dpop: { maxAge: 60s } under auth, or have clients asked for certificates',
      },
    dpop !== null &&
      childAt(tree, ['listen', 'publicUrl']) === undefined && {
        path: ['auth', 'dpop'],
        message: 'nothing says what URL proofs are made for',
        expected: 'listen.publicUrl: {base_url} as clients write it',
        found: 'no listen.publicUrl',
        hint: 'add publicUrl: https://… under listen',
      },
    dpop !== null &&
      childAt(tree, ['auth', 'dpop', 'withoutRedis']) !== undefined &&
      !isOnAt(tree, ['limits', 'redis']) && {
        path: ['auth', 'dpop', 'withoutRedis'],
        message: 'there is no Redis to be without',
        expected: 'limits.redis',
        found: `${dpop.withoutRedis}, and no limits.redis`,
        hint: 'add redis: { url: … } under limits, or remove this line',
      },
  ]
}

const tokenless = (key: 'bound' | 'dpop'): Found => ({
  path: ['auth', key],
  message: 'only tokens can be bound, and no method takes them',
  expected: 'jwt or introspection among the methods',
  found: 'neither',
  hint: `add jwt to auth.methods, or remove ${key}`,
})
