import * as z from 'zod'
import { optionalPolicy, partialShape } from '../schema/inheritance.ts'
import { hour } from '../schema/scalar-kinds.ts'
import { choice, duration, durationOrZero, integer, optionalDuration, optionalSize } from '../schema/scalar-types.ts'
import { circuitBreakerSchema, healthCheckSchema, outlierSchema, upstreamTlsSchema } from './upstream-policies.ts'

/** The schema of the deadline of one request. It may stand in the defaults, in a group and in an operation. */
export const deadlineSchema = optionalDuration(
  "Longest time until the answer's head, or its end where the gateway reads it first; attempts and waits included",
)

/** The schema of the largest request body. It may stand where {@link deadlineSchema} may. */
export const maxBodySchema = optionalSize('Largest request body')

export const defaultsSchema = z
  .strictObject({
    timeouts: z
      .strictObject({
        connect: optionalDuration('Longest time to connect to an endpoint, TLS included').prefault('2s'),
        headers: optionalDuration("Longest time until the head of an endpoint's answer").prefault('15s'),
        body: optionalDuration("Longest gap between two chunks of an answer's body; never a total").prefault('30s'),
      })
      .meta({ description: 'How long an upstream may take' })
      .prefault({}),
    // `none`, `false` and `0s` allow no reuse: then every request gets a connection of its own.
    keepAlive: durationOrZero('How long an idle upstream connection is kept, less a margin; none or 0s: not at all', {
      min: 0,
    }).prefault('1500ms'),
    maxConnections: integer('Most connections to one endpoint', { min: 1, max: 10_000 }).prefault(256),
    maxPending: integer('Most requests that wait for one of them', { min: 0, max: 100_000 }).prefault(1024),
    resolve: duration('How often the names of endpoints are resolved again', { min: 1000, max: hour }).prefault('30s'),
    tls: upstreamTlsSchema.prefault({}),
    balance: choice('How an endpoint is chosen', ['p2c', 'least-requests', 'round-robin']).prefault('p2c'),
    slowStart: optionalDuration('How long an endpoint that comes back takes to reach its whole share', {
      max: hour,
    }).prefault('10s'),
    healthCheck: optionalPolicy(healthCheckSchema, '{ path: /healthz }').prefault('none'),
    outlier: optionalPolicy(outlierSchema, '{ }').prefault({}),
    circuitBreaker: optionalPolicy(circuitBreakerSchema, '{ }').prefault('none'),
    deadline: deadlineSchema.prefault('30s'),
    maxBody: maxBodySchema.prefault('64MiB'),
  })
  .meta({ description: 'What applies to every group; a group states only what differs' })

/** The keys of `defaults` that stand in an operation as well. */
export const operationDefaults = { deadline: true, maxBody: true } as const

/** Core's keys of `defaults` for one group, all optional. */
export const upstreamPolicyShape = partialShape(defaultsSchema.shape)
