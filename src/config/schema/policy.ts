import * as z from 'zod'
import { circuitBreakerSchema } from './circuit-breaker.ts'
import { healthCheckSchema } from './health-check.ts'
import { orOff, statedShape } from './levels.ts'
import { concurrency } from './limits.ts'
import { outlierSchema } from './outlier.ts'
import { retrySchema } from './retry.ts'
import { upstreamTlsSchema } from './upstream-tls.ts'
import { choice, duration, durationOrZero, integer, optionalDuration, optionalSize } from './values.ts'

const hour = 3_600_000

/** Bounds the wait for one answer. Stated for every group, for one group, or for one operation. */
export const deadline = optionalDuration("Longest time until the answer's head, attempts and waits included")

/** Bounds the body of one request. Stated where {@link deadline} is. */
export const maxBody = optionalSize('Largest request body')

/** Describes what applies to every group that does not say otherwise; carries the built-in values. */
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
    concurrency: concurrency.prefault('none'),
    resolve: duration('How often the names of endpoints are resolved again', { min: 1000, max: hour }).prefault('30s'),
    tls: upstreamTlsSchema.prefault({}),
    balance: choice('How an endpoint is chosen', ['p2c', 'least-requests', 'round-robin']).prefault('p2c'),
    slowStart: optionalDuration('How long an endpoint that comes back takes to reach its whole share', {
      max: hour,
    }).prefault('10s'),
    healthCheck: orOff(healthCheckSchema, '{ path: /healthz }').prefault('none'),
    outlier: orOff(outlierSchema, '{ }').prefault({}),
    circuitBreaker: orOff(circuitBreakerSchema, '{ }').prefault('none'),
    retry: orOff(retrySchema, '{ }').prefault('none'),
    deadline: deadline.prefault('30s'),
    maxBody: maxBody.prefault('64MiB'),
  })
  .meta({ description: 'What applies to every group; a group states only what differs' })

// Told once in the JSON Schema, for a group as well.
for (const [key, schema] of Object.entries(defaultsSchema.shape))
  z.globalRegistry.add(schema, { id: key.replace(/^./, (letter) => letter.toUpperCase()) })

/** Describes what of it holds for a group, merged; the rest for each operation. */
export const policySchema = defaultsSchema.omit({ deadline: true, maxBody: true })

/** Lists the same keys for one group, none of them required. */
export const policyShape = statedShape(defaultsSchema.shape)

/** Bounds the two phases of a shutdown. */
export const shutdownSchema = z
  .strictObject({
    wait: duration('How long connections are still accepted after /ready says no', { min: 0 }).prefault('5s'),
    deadline: duration('Longest shutdown in all, the wait included').prefault('25s'),
  })
  .meta({ description: 'How the gateway ends: say not ready, wait, finish what runs' })
