import { operatorNameForm, operatorNameMistake, operatorScopes } from '../../lib/operators.ts'
import { hostOrAddress } from '../schema/address.ts'
import { annotate, optionalKey } from '../schema/annotations.ts'
import { certificate, certificateName, privateKey, secretDigest } from '../schema/credentials.ts'
import { defaultAdminAddress, portRange, tokenKind } from '../schema/kinds.ts'
import { scalar } from '../schema/scalar.ts'
import { InvalidScalar, textParser } from '../schema/scalar-kind.ts'
import { boolean, choice, integer, list, map } from '../schema/scalar-types.ts'

const operatorName = scalar<string>('The name of its operator, in the log, the audit log and on the page', {
  expected: `${operatorNameForm}, such as oncall-anna`,
  parse: textParser((value) => {
    const mistake = operatorNameMistake(value)
    return mistake === null ? value : new InvalidScalar(mistake)
  }),
  json: { type: 'string', pattern: '^[0-9A-Za-z_.-]{1,64}$' },
})

const scope = choice(
  'What the token allows. metrics: /metrics and /whoami; read: every page and report; operate: commands too',
  [...operatorScopes],
)

// Each admin request is compared with all tokens.
const maxTokens = 100

const tokens = list(
  'Tokens of named operators. While a token is being replaced, its operator has two',
  map('A token, as lender-gateway hash-key --operator prints it', {
    name: operatorName,
    hash: secretDigest('The SHA-256 of the token', 'hash-key --operator NAME'),
    scope,
  }),
  { max: maxTokens, sensitive: true },
)

const clientCertificate = map('Asks operators for certificates. Turning it on or off needs a restart', {
  ca: certificate('The authorities that issue certificates of operators; file:PATH for a file'),
  operators: list(
    'Operators with a certificate; an empty list removes the last operator',
    map('An operator', {
      name: operatorName,
      san: certificateName('A name in the certificate, or the fingerprint of the certificate'),
      scope,
    }),
    { max: maxTokens },
  ),
})

const tls = map(
  'Serves HTTPS. A renewed certificate is read without a restart; turning it on or off needs one',
  {
    certificate: certificate('The certificate, with its chain'),
    key: privateKey('The private key of the certificate'),
    clientCertificate: annotate(optionalKey(clientCertificate), { restart: true, sensitive: true }),
  },
  { sensitive: true },
)

export const adminSchema = map(
  "The operator's listener: health, status, reload. Never public",
  {
    host: annotate(hostOrAddress('The address to listen on').prefault(defaultAdminAddress.host), { restart: true }),
    port: annotate(integer('The port to listen on; 0: any free one', portRange).prefault(defaultAdminAddress.port), {
      restart: true,
    }),
    hosts: list('More names that operators may send as Host', hostOrAddress('A host name'), { max: 100 }).prefault([]),
    token: optionalKey(
      scalar('The token that operators send as Authorization: Bearer …; file:PATH to read it from a file', tokenKind),
    ),
    metricsToken: optionalKey(scalar('The token that Prometheus sends: it opens only /metrics and /whoami', tokenKind)),
    tokens: tokens.prefault([]),
    tls: annotate(optionalKey(tls), { restart: true }),
    insecure: boolean('true: allows an address that other machines reach without TLS').prefault(false),
  },
  { sensitive: true },
)
