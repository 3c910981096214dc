import * as z from 'zod'
import { httpTokenPattern, isHttpToken } from '../../exchange/header-fields.ts'
import { basePath, cidrOrAddress, endpointUrl, hostHeader, hostOrAddress } from '../schema/address.ts'
import { annotate, optionalKey } from '../schema/annotations.ts'
import { certificate, privateKey, revocationList } from '../schema/credentials.ts'
import { portRange } from '../schema/kinds.ts'
import { scalar } from '../schema/scalar.ts'
import { InvalidScalar, textParser } from '../schema/scalar-kind.ts'
import {
  choice,
  duration,
  integer,
  list,
  map,
  optionalByteRate,
  optionalDuration,
  optionalInteger,
  size,
  upTo,
} from '../schema/scalar-types.ts'

const via = scalar<string>(
  'The pseudonym of this gateway in Via (RFC 9110 §7.6.3). Default: made at random for the process',
  {
    expected: 'a token of at most 64 characters, such as gateway-1',
    parse: textParser((value) => (isHttpToken(value) && value.length <= 64 ? value : new InvalidScalar('not a token'))),
    json: { type: 'string', pattern: httpTokenPattern, maxLength: 64 },
  },
)

const publicUrl = scalar<string>('The {base_url} that clients use', {
  expected: 'a URL such as https://gateway.example or https://gateway.example/lender',
  parse: (value, fromVariable) => {
    if (value === 'sandbox') return new InvalidScalar('not a URL')
    const parsed = endpointUrl.parse(value, fromVariable)
    if (!(parsed instanceof InvalidScalar)) return parsed.origin + parsed.pathPrefix
    return parsed.message.includes('password') ? new InvalidScalar(parsed.message) : parsed
  },
  json: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\\\\\s]+(/[^?#\\\\\\s]*)?$' },
})

const timeouts = map('How long a client may take', {
  headers: duration('Longest time until the whole request head has arrived').prefault('10s'),
  body: optionalDuration('Longest gap between two pieces of a body, in either direction').prefault('30s'),
  keepAlive: duration('How long an idle client connection is kept').prefault('75s'),
})

// Each load parses all of these texts.
const maxPemTexts = 100

const certificatePair = z.strictObject({
  certificate: certificate('A certificate, with its chain; file:PATH for a file'),
  key: privateKey('The private key of the certificate'),
})

export const listenTlsSchema = map(
  'Serves HTTPS. Certificates are renewed without a restart; turning it on or off needs one',
  {
    certificates: list(
      'Chosen by the name that the client asks for (SNI); the first certificate is for all other clients',
      certificatePair,
      { min: 1, max: maxPemTexts, sensitive: true },
    ),
    minVersion: choice('The oldest accepted version of TLS', ['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
    clientCertificates: choice('Whether clients may, or must, show a certificate', [
      'none',
      'optional',
      'required',
    ]).prefault('none'),
    clientCa: optionalKey(certificate('The authorities that issue client certificates; file:PATH for a file')),
    clientCrl: list(
      'Lists of revoked client certificates; if there is a list, every authority in clientCa needs one',
      revocationList('A list of revoked certificates; file:PATH for a file'),
      { max: maxPemTexts, sensitive: true },
    ).prefault([]),
  },
  {
    sensitive: true,
    redundantKeys: ({ clientCertificates }: { clientCertificates: string }) =>
      clientCertificates === 'none' ? ['clientCrl'] : [],
  },
)

export const listenSchema = map(
  'The public listener. Another host, port, via or http2, or tls on or off, needs a restart',
  {
    host: annotate(hostOrAddress('The address to listen on').prefault('127.0.0.1'), { restart: true }),
    port: annotate(integer('The port to listen on; 0: any free one', portRange).prefault(8080), { restart: true }),
    basePath: basePath('The path of {base_url}, in front of all nine operations').prefault(''),
    trustedProxies: list('Proxies whose forwarded fields are trusted', cidrOrAddress('An IP address or a CIDR'), {
      max: 1000,
    }).prefault([]),
    forwarded: choice('Which fields of trustedProxies say who the client is: X-Forwarded-*, Forwarded, or either', [
      'x-forwarded',
      'rfc7239',
      'both',
    ]).prefault('x-forwarded'),
    overrideFields: choice(
      'Fields that name another method or URL (X-HTTP-Method-Override, X-Original-URL, …), of all but trustedProxies',
      ['drop', 'forward'],
    ).prefault('drop'),
    hosts: list(
      'Names that clients may send as Host; without the key: any name',
      hostHeader('A host name, with or without a port'),
      { max: 1000 },
    ).prefault([]),
    publicUrl: optionalKey(publicUrl),
    via: annotate(optionalKey(via), { restart: true }),
    maxTarget: size('Longest request target', { min: 64, max: 64 * 1024 }).prefault('8KiB'),
    maxHeaders: size('Most bytes of request header fields', { min: 1024, max: 1024 ** 2 }).prefault('32KiB'),
    maxHeaderFields: integer('Most request header fields', upTo(10_000)).prefault(100),
    getContent: choice('How a GET with content is handled; forward closes the upstream connection afterwards', [
      'reject',
      'forward',
    ]).prefault('reject'),
    maxConnections: optionalInteger('Most client connections at once', upTo(1_000_000)).prefault(10_000),
    maxConnectionsPerAddress: optionalInteger(
      'Most client connections at once from one address',
      upTo(1_000_000),
    ).prefault('none'),
    maxRequestsPerConnection: optionalInteger(
      'Most requests on a client connection; the last response ends it',
      upTo(1_000_000_000),
    ).prefault('none'),
    minRate: optionalByteRate(
      'Slowest rate at which a client sends a body or takes a response',
      upTo(1024 ** 3),
    ).prefault('none'),
    timeouts: timeouts.prefault({}),
    interim: choice("What becomes of an upstream's 102 and 103 on HTTP/1.1; HTTP/2 clients get them always", [
      'drop',
      'relay',
    ]).prefault('drop'),
    tls: annotate(optionalKey(listenTlsSchema), { restart: true }),
  },
)
