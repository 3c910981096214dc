import * as z from 'zod'
import { duration, integer, optionalDuration, optionalSize } from './values.ts'

/** How long a group's upstream may take, and how much a client may send. A level that leaves a key out inherits it. */
const connect = optionalDuration('Longest time to connect to an endpoint, TLS included')
const headers = optionalDuration("Longest time until the head of an endpoint's answer")
const body = optionalDuration("Longest gap between two chunks of an answer's body; never a total")

/** Allows no reuse (`none`, `false`, `0s`): then every request gets a connection of its own. */
const keepAlive = optionalDuration('How long an idle upstream connection may be used again; none or 0s: never', {
  min: 0,
})

const maxConnections = integer('Most connections to one endpoint', { min: 1, max: 10_000 })

const timeoutsMeta = { description: 'How long an upstream may take' }

/** Bounds the wait for one answer. Stated for every group, for one group, or for one operation. */
export const deadline = optionalDuration("Longest time until the answer's head, attempts and waits included")

/** Bounds the body of one request. Stated where {@link deadline} is. */
export const maxBody = optionalSize('Largest request body')

/** Describes what applies to every group that does not say otherwise; carries the built-in values. */
export const defaultsSchema = z
  .strictObject({
    timeouts: z
      .strictObject({
        connect: connect.prefault('2s'),
        headers: headers.prefault('15s'),
        body: body.prefault('30s'),
      })
      .meta(timeoutsMeta)
      .prefault({}),
    keepAlive: keepAlive.prefault('3s'),
    maxConnections: maxConnections.prefault(256),
    deadline: deadline.prefault('30s'),
    maxBody: maxBody.prefault('64MiB'),
  })
  .meta({ description: 'What applies to every group; a group states only what differs' })

/** Lists the same keys for one group, none of them required. */
export const policyShape = {
  timeouts: z
    .strictObject({ connect: connect.optional(), headers: headers.optional(), body: body.optional() })
    .meta(timeoutsMeta)
    .optional(),
  keepAlive: keepAlive.optional(),
  maxConnections: maxConnections.optional(),
  deadline: deadline.optional(),
  maxBody: maxBody.optional(),
}

/** Bounds the two phases of a shutdown. */
export const shutdownSchema = z
  .strictObject({
    wait: duration('How long connections are still accepted after /ready says no', { min: 0 }).prefault('5s'),
    deadline: duration('Longest shutdown in all, the wait included').prefault('25s'),
  })
  .meta({ description: 'How the gateway ends: say not ready, wait, finish what runs' })
