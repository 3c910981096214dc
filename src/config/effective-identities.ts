import { formatDuration, formatRate } from '../units.ts'
import type {
  AuthConfig,
  ClientConfig,
  ClientsSource,
  DpopConfig,
  IntrospectionConfig,
  JwtConfig,
  OperationAuthConfig,
} from './auth-config.ts'
import type { Config } from './config.ts'
import { type Effective, literal, Secret } from './shown.ts'

/** Writes who calls and how that is found out, in the spelling of the file. */
export const identities = ({
  auth: given,
  clients,
  clientsSource: { parts },
}: Config): Readonly<Record<string, Effective>> => ({
  auth: auth(given),
  clients: parts.length === 1 && parts[0]?.file ? parts[0].file : listed(clients, parts),
})

// More than anybody reads; what is compared and written with each reload has to have an end.
const mostShown = 100

/** Tells whether every client is shown: not those of other files, nor very many. */
export const showsClients = ({ clients, clientsSource: { parts } }: Config): boolean =>
  clients.length <= mostShown && parts.every(({ file }) => file === null)

const listed = (clients: Config['clients'], parts: ClientsSource['parts']): Effective => {
  let start = 0
  return parts.flatMap(({ file, count }): readonly Effective[] => {
    const own = clients.slice(start, start + count)
    start += count
    if (file !== null) return [file]
    return clients.length <= mostShown ? own.map(client) : [`${count} clients`]
  })
}

/** Writes what one operation asks for. */
export const operationAuth = (config: OperationAuthConfig | null): Effective =>
  config === null ? 'none' : { methods: config.methods, scopes: config.scopes, claims: written(config.claims) }

/** Writes how it is found out who calls. */
export const auth = (config: AuthConfig | null): Effective =>
  config === null
    ? 'none'
    : {
        methods: config.methods,
        apiKey: config.apiKey,
        ...(config.jwt === null ? {} : { jwt: jwt(config.jwt) }),
        ...(config.introspection === null ? {} : { introspection: introspection(config.introspection) }),
        mtls: { from: config.mtls.from, ca: config.mtls.ca === null ? 'none' : new Secret(config.mtls.ca) },
        bound: config.bound,
        dpop: config.dpop === null ? 'none' : dpop(config.dpop),
        credentials: config.credentials,
        identityField: config.identityField ?? 'none',
      }

const jwt = ({ issuer, audience, jwks, algorithms, types, toleranceMs }: JwtConfig): Effective => ({
  issuer: literal(issuer),
  audience: audience.map(literal),
  // Public, but nothing that anybody reads: that it changed is what shows.
  jwks: 'url' in jwks ? literal(jwks.url) : new Secret(jwks.text),
  algorithms,
  types,
  clockTolerance: formatDuration(toleranceMs),
})

const dpop = ({ algorithms, maxAgeMs, toleranceMs, withoutRedis }: DpopConfig): Effective => ({
  algorithms,
  maxAge: formatDuration(maxAgeMs),
  clockTolerance: formatDuration(toleranceMs),
  withoutRedis,
})

const introspection = (config: IntrospectionConfig): Effective => ({
  url: literal(config.url),
  clientId: literal(config.clientId),
  clientSecret: new Secret(config.clientSecret),
  ...(config.issuer === null ? {} : { issuer: literal(config.issuer) }),
  ...(config.audience === null ? {} : { audience: config.audience.map(literal) }),
  timeout: formatDuration(config.timeoutMs),
  cache: config.cacheMs === 0 ? 'none' : formatDuration(config.cacheMs),
  clockTolerance: formatDuration(config.toleranceMs),
})

const client = ({
  id,
  disabled,
  apiKeys,
  claims,
  certificates,
  operations,
  addresses,
  rate,
  concurrency,
}: ClientConfig): Effective => ({
  id,
  disabled,
  apiKeys: apiKeys.map(({ id: key, sha256 }) => ({ id: key, sha256: new Secret(sha256) })),
  claims: written(claims),
  certificates,
  operations: operations ?? 'all',
  addresses,
  ...(rate === null ? {} : { rate: formatRate(rate.rate), burst: rate.burst }),
  concurrency: concurrency ?? 'none',
})

const written = (claims: Readonly<Record<string, string>>): Effective =>
  Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, literal(value)]))
