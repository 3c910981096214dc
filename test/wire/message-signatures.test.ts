import { generateKeyPairSync, sign, verify } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer, request } from 'node:https'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { listen } from '../helpers/listen.ts'
import { needProgram } from '../helpers/program.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

/** The section on message signatures of docs/operations.md (RFC 9421), checked by the fields that the upstream sees. */

const openssl = await needProgram('openssl')

/** A request as one of both ends sees it. */
type Seen = Readonly<Record<'method' | 'scheme' | 'authority' | 'target' | 'field', string>>

// RFC 9421 §2.2: each component is derived from the request.
const components: Readonly<Record<string, (seen: Seen) => string>> = {
  '@method': ({ method }) => method,
  '@path': ({ target }) => target.split('?')[0] ?? '',
  '@query': ({ target }) => `?${target.split('?')[1]}`,
  '@request-target': ({ target }) => target,
  '@authority': ({ authority }) => authority,
  '@scheme': ({ scheme }) => scheme,
  '@target-uri': ({ scheme, authority, target }) => `${scheme}://${authority}${target}`,
  'content-digest': ({ field }) => field,
}

const { privateKey, publicKey } = generateKeyPairSync('ed25519')

/** The signature base of one component (RFC 9421 §2.5). */
const baseOf = (name: string, seen: Seen): Buffer =>
  Buffer.from(`"${name}": ${components[name]?.(seen)}\n"@signature-params": ("${name}");created=1`)

/** Lists the components whose signature verifies at the other end. */
const survivors = (sent: Seen, received: Seen): readonly string[] =>
  Object.keys(components).filter((name) =>
    verify(null, baseOf(name, received), publicKey, sign(null, baseOf(name, sent), privateKey)),
  )

describe.skipIf(openssl.missing)('a signature survives, by default and by what is set', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  const always = ['@method', '@path', '@query', '@request-target', 'content-digest']
  const all = [...always, '@authority', '@scheme', '@target-uri']

  /** Opens an upstream that speaks `scheme`, and records its requests. */
  const openUpstream = async (scheme: 'http' | 'https') => {
    const seen: Seen[] = []
    const listener = ({ method = '', url = '', headers }: IncomingMessage, response: { end(): void }): void => {
      const field = String(headers['content-digest'])
      seen.push({ method, scheme, authority: headers.host ?? '', target: url, field })
      response.end()
    }
    const server = scheme === 'http' ? createServer(listener) : createTlsServer({ ...made.right }, listener)
    return { seen, origin: `${scheme}://localhost:${await listen(server)}` }
  }

  const ofClient = { host: 'client' }
  const withoutPath = ['@method', '@query', 'content-digest', '@authority', '@scheme']
  test.each<[string, 'http' | 'https', object, string, string, readonly string[]]>([
    ['by default', 'http', {}, '', '', always],
    ['with host: client', 'http', ofClient, '', '', [...always, '@authority']],
    ['with an endpoint of the same scheme', 'https', {}, '', '', [...always, '@scheme']],
    ['with both', 'https', ofClient, '', '', all],
    ['with a base path that the endpoint does not have', 'https', ofClient, '/lender', '', withoutPath],
    ['with a base path that the endpoint has too', 'https', ofClient, '/lender', '/lender', all],
  ])('%s', async (_, scheme, upstream, basePath, path, expected) => {
    const { seen, origin } = await openUpstream(scheme)
    const settings = {
      ...(basePath !== '' && { listen: { basePath } }),
      upstream: { endpoints: [`${origin}${path}`], ...upstream },
      defaults: { tls: { ca: made.authority.cert } },
    }
    const { port } = await bootTlsGateway(made.right, {}, settings)
    const target = `${basePath}/market/insights?a=%20b&c`
    const field = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
    const headers = { Host: 'gateway.example', 'Content-Digest': field }
    const options = { port, host: '127.0.0.1', path: target, agent: false, rejectUnauthorized: false, headers }

    const status = await new Promise((resolve, reject) => {
      const asked = request(options, (response) => resolve(response.resume().statusCode))
      asked.on('error', reject).end()
    })

    const sent = { method: 'GET', scheme: 'https', authority: 'gateway.example', target, field }
    expect(status).toBe(200)
    expect(new Set(survivors(sent, seen[0] as Seen))).toEqual(new Set(expected))
  })
})
