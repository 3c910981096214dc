import { serverName } from '../schema/address.ts'
import { optionalKey } from '../schema/annotations.ts'
import { optionalCertificate, optionalPrivateKey } from '../schema/credentials.ts'
import { optionalPolicy, partialShape } from '../schema/inheritance.ts'
import { scalar } from '../schema/scalar.ts'
import { InvalidScalar, textParser } from '../schema/scalar-kind.ts'
import {
  boolean,
  choice,
  duration,
  durationOrZero,
  hour,
  integer,
  map,
  optionalDuration,
  optionalInteger,
  optionalPercent,
  optionalSize,
  orNone,
  percent,
  upTo,
} from '../schema/scalar-types.ts'

const statusRange = (description: string) =>
  scalar<{ readonly from: number; readonly to: number }>(description, {
    expected: 'a status from 200 to 599, or a range such as 200-299',
    parse: (value) => {
      if (typeof value === 'boolean') return new InvalidScalar('wrong type')
      const text = String(value)
      const [, first, last = first] = /^(\d{3})(?:-(\d{3}))?$/.exec(text) ?? []
      if (first === undefined || last === undefined)
        return new InvalidScalar('not a range of statuses', statusHint(text))
      const [from, to] = [Number(first), Number(last)]
      if (!isStatus(from) || !isStatus(to))
        return new InvalidScalar('no such status', 'the status of a response is from 200 to 599')
      return from > to ? new InvalidScalar('a range the wrong way round', `write ${to}-${from}`) : { from, to }
    },
    render: ({ from, to }) => (from === to ? from : `${from}-${to}`),
    json: {
      anyOf: [
        { type: 'integer', minimum: 200, maximum: 599 },
        { type: 'string', pattern: '^[2-5][0-9]{2}(-[2-5][0-9]{2})?$' },
      ],
    },
  })

const isStatus = (status: number): boolean => status >= 200 && status <= 599

const statusHint = (text: string): string | undefined => {
  const [, hundreds] = /^\s*([2-5])xx\s*$/i.exec(text) ?? []
  if (hundreds !== undefined) return `write ${hundreds}00-${hundreds}99`
  const [, from, to] = /^\s*(\d{3})\s*(?:-|–|\.\.+|to|,)\s*(\d{3})\s*$/.exec(text) ?? []
  return from === undefined ? undefined : `write ${from}-${to}`
}

const maxPathLength = 1024

const path = scalar<string>("The path of the GET, with its query; an endpoint's path prefix is not added", {
  expected: `a path such as /healthz, at most ${maxPathLength} characters, a query allowed`,
  parse: textParser((value) => {
    if (/^https?:/i.test(value))
      return new InvalidScalar('not a path', 'write the path alone: it is asked of each endpoint')
    // RFC 9112 §3.2.1: a blank ends the request target, and a fragment is never sent.
    if (!/^[\x21-\x7e]*$/.test(value))
      return new InvalidScalar('a path with a character that must be encoded', 'percent-encode it, e.g. a space as %20')
    if (value.includes('#')) return new InvalidScalar('a path with a fragment', 'remove # and what follows it')
    if (!value.startsWith('/'))
      return new InvalidScalar('not an absolute path', `write /${/^[\w./-]+$/.test(value) ? value : '…'}`)
    return value.length > maxPathLength ? new InvalidScalar('too long') : value
  }),
  json: { type: 'string', pattern: '^/[!"$-~]*$', maxLength: maxPathLength },
})

const probeStreak = (description: string) => integer(description, upTo(100))

/** All keys but `path` have built-in values. */
export const healthCheckSchema = map('Probes each endpoint on a timer; path is required', {
  path: optionalKey(path),
  interval: duration('The time from the end of a probe to the next probe', { min: 100, max: hour }).prefault('5s'),
  timeout: duration('Longest probe, connecting included').prefault('2s'),
  expect: statusRange('The statuses of a healthy endpoint').prefault('200-299'),
  healthyAfter: probeStreak('Successful probes in a row that bring an endpoint back').prefault(2),
  unhealthyAfter: probeStreak('Failed probes in a row that take an endpoint out').prefault(3),
})

export const outlierSchema = map('When real traffic takes one endpoint out for a while', {
  consecutiveFailures: optionalInteger('Failures in a row that take an endpoint out', upTo(1000)).prefault(5),
  failureRate: optionalPercent('How much larger its share of failed requests may be than that of its siblings', {
    min: 0.01,
  }).prefault('50%'),
  ejectionTime: duration('How long the first ejection lasts; each further ejection lasts twice as long', {
    min: 100,
    max: hour,
  }).prefault('10s'),
  maxEjected: percent('The largest share of endpoints ejected at the same time').prefault('50%'),
})

export const circuitBreakerSchema = map('Stops traffic to the whole upstream while most of it fails', {
  failureRate: percent('The share of failed requests at which the breaker opens', { min: 0.01 }).prefault('50%'),
  minRequests: integer('The fewest requests within the window at which the breaker opens', upTo(10_000)).prefault(20),
  window: duration('How far back requests are counted', { min: 1000, max: hour }).prefault('10s'),
  openFor: duration('How long an open breaker rejects every request', { min: 100, max: hour }).prefault('5s'),
  probes: integer('Requests let through after openFor; when all succeed, the breaker closes', upTo(100)).prefault(3),
})

/** An optional key may be `none`, which overrides the level below. */
export const upstreamTlsSchema = map(
  'TLS to endpoints with https://',
  {
    ca: optionalKey(optionalCertificate('Authorities to trust instead of the public ones; file:PATH for a file')),
    certificate: optionalKey(optionalCertificate('The gateway’s certificate, with its chain')),
    key: optionalKey(optionalPrivateKey('The private key of the certificate')),
    serverName: optionalKey(
      scalar("The name sent (SNI) and verified, instead of the endpoint's name", orNone(serverName)),
    ),
    minVersion: choice('The oldest accepted version of TLS', ['TLSv1.2', 'TLSv1.3']).prefault('TLSv1.2'),
    verify: boolean('false: the certificate of the server is not verified; needs insecure: true').prefault(true),
    insecure: boolean('true: confirms verify: false').prefault(false),
  },
  { sensitive: true, redundantKeys: ({ verify }: { verify: boolean }) => (verify ? ['insecure'] : []) },
)

export const deadlineSchema = optionalDuration(
  "Longest time until the response's head, or its end where the gateway reads it first; attempts and waits included",
)

export const maxBodySchema = optionalSize('Largest request body')

export const defaultsSchema = map('Settings of every group; a group states only its differences', {
  timeouts: map('How long an upstream may take', {
    connect: optionalDuration('Longest time to connect to an endpoint, TLS included').prefault('2s'),
    headers: optionalDuration("Longest time until the head of an endpoint's response").prefault('15s'),
    body: optionalDuration('Longest gap between two chunks of the body of a response; never a total').prefault('30s'),
  }).prefault({}),
  keepAlive: durationOrZero('How long an idle upstream connection is kept, less a margin; none or 0s: not at all', {
    min: 0,
  }).prefault('1500ms'),
  maxConnections: integer('Most connections to one endpoint', upTo(10_000)).prefault(256),
  maxPending: integer('Most requests that wait for a connection to one endpoint', { min: 0, max: 100_000 }).prefault(
    1024,
  ),
  resolve: duration('How often the names of endpoints are resolved again', { min: 1000, max: hour }).prefault('30s'),
  tls: upstreamTlsSchema.prefault({}),
  balance: choice('How an endpoint is chosen', ['p2c', 'least-requests', 'round-robin']).prefault('p2c'),
  slowStart: optionalDuration('How long an endpoint that comes back takes to reach its full share of traffic', {
    max: hour,
  }).prefault('10s'),
  healthCheck: optionalPolicy(healthCheckSchema, '{ path: /healthz }').prefault('none'),
  outlier: optionalPolicy(outlierSchema, '{ }').prefault({}),
  circuitBreaker: optionalPolicy(circuitBreakerSchema, '{ }').prefault('none'),
  deadline: deadlineSchema.prefault('30s'),
  maxBody: maxBodySchema.prefault('64MiB'),
})

export const operationDefaults = { deadline: true, maxBody: true } as const

export const upstreamPolicyShape = partialShape(defaultsSchema.shape)
