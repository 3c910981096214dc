import { generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** A real authorization server on the loopback, with one client that may get tokens for itself. */
export interface AuthorizationServer {
  readonly url: string
  /** Gets a token: a JWT for a resource, or an opaque one without. */
  token(resource: string | null): Promise<string>
  /** Gets one that is bound: to the key of a proof for its `/token`, or to a certificate (PEM). */
  boundToken(
    resource: string | null,
    to: { readonly proof: string } | { readonly certificate: string },
  ): Promise<string>
  /** Ends a token. */
  revoke(token: string): Promise<void>
  /** Makes a new key, signs with it from now on, and publishes it beside the old ones. */
  rotate(): Promise<void>
  close(): Promise<void>
}

export const gatewayClient = { id: 'lender-gateway', secret: 'the secret of the gateway' }
const robot = { id: 'bank-a-robot', secret: 'the secret of the robot' }
// Its tokens are bound to the certificate that it shows.
const bound = { id: 'bank-b-robot', secret: 'another secret' }

/** Opens one, which the caller closes. */
export const openAuthorizationServer = async (): Promise<AuthorizationServer> => {
  const http = createServer((request, response) => serve(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const keys: JsonWebKey[] = [newKey()]
  let serve = providerOf(url, keys)

  const post = async (
    path: string,
    client: typeof robot,
    form: Readonly<Record<string, string>>,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Response> =>
    fetch(url + path, {
      method: 'POST',
      headers: {
        ...fields,
        authorization: `Basic ${btoa(`${encodeURIComponent(client.id)}:${encodeURIComponent(client.secret)}`)}`,
      },
      body: new URLSearchParams(form),
    })

  const issue = async (
    resource: string | null,
    client: typeof robot,
    fields: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const form = { grant_type: 'client_credentials', scope: 'leads.read', ...(resource === null ? {} : { resource }) }
    const response = await post('/token', client, form, fields)
    if (response.status !== 200) throw new Error(await response.text())
    return ((await response.json()) as { access_token: string }).access_token
  }

  return {
    url,
    token: (resource) => issue(resource, robot, {}),
    boundToken: (resource, to) =>
      'proof' in to
        ? issue(resource, robot, { DPoP: to.proof })
        : issue(resource, bound, { 'X-Certificate': encodeURIComponent(to.certificate) }),
    revoke: async (token) => void (await post('/token/revocation', robot, { token })),
    async rotate() {
      keys.unshift(newKey())
      serve = providerOf(url, keys)
    },
    close: () =>
      new Promise((resolve) => {
        http.closeAllConnections()
        http.close(() => resolve())
      }),
  }
}

const newKey = (): JsonWebKey => ({
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  kid: crypto.randomUUID(),
  alg: 'ES256',
  use: 'sig',
})

/** Makes a provider with these keys. Those of other keys know its tokens as well. */
const providerOf = (issuer: string, keys: readonly JsonWebKey[]): RequestListener =>
  new Provider(issuer, {
    adapter: Memory,
    clients: [robot, bound, gatewayClient].map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: 'ES256',
      tls_client_certificate_bound_access_tokens: id === bound.id,
    })),
    jwks: { keys: [...keys] },
    scopes: ['leads.read'],
    ttl: { ClientCredentials: 300 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true },
      mTLS: {
        enabled: true,
        certificateBoundAccessTokens: true,
        // As a proxy in front of it would report the handshake.
        getCertificate: (context: { get(name: string): string }) =>
          decodeURIComponent(context.get('X-Certificate')) || undefined,
      },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: 'leads.read',
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }).callback()

const stored = new Map<string, object>()

/** Keeps what a provider has to remember, for all of this process. */
class Memory {
  readonly #kind: string

  constructor(kind: string) {
    this.#kind = kind
  }

  async upsert(id: string, what: object): Promise<void> {
    stored.set(`${this.#kind} ${id}`, what)
  }

  async find(id: string): Promise<object | undefined> {
    return stored.get(`${this.#kind} ${id}`)
  }

  async destroy(id: string): Promise<void> {
    stored.delete(`${this.#kind} ${id}`)
  }

  async revokeByGrantId(): Promise<void> {}
}
