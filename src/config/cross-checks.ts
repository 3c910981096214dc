import type * as z from 'zod'
import { groups } from '../catalog.ts'
import { authFindings, clientFindings } from './auth-checks.ts'
import { childAt } from './auth-places.ts'
import { boundFindings } from './bound-checks.ts'
import { cacheFindings } from './cache-checks.ts'
import { certificateFindings } from './certificate.ts'
import { http2Findings, listenTlsFindings } from './listen-checks.ts'
import { mtlsFindings } from './mtls-checks.ts'
import type { Finding, Path } from './problem.ts'
import { isLoopback, reaches } from './reach.ts'
import { endpointSchema } from './schema/upstreams.ts'
import { configSchema } from './schema.ts'
import { upstreamFindings } from './upstream-checks.ts'

const { allowSandbox, requestId, listen, admin, shutdown } = configSchema.shape

/**
 * Checks what no single key can tell. It reads the tree value by value and skips a check when a value that it needs is broken, so
 * that these problems are told together with those of the schema.
 */
export function crossFindings(tree: unknown): readonly Finding[] {
  const read = <T>(schema: z.ZodType<T>, ...path: Path): T | undefined => schema.safeParse(childAt(tree, path)).data
  const publicShape = listen.unwrap().shape
  const adminShape = admin.unwrap().shape
  const open: Listener = {
    name: 'listen',
    host: read(publicShape.host, 'listen', 'host'),
    port: read(publicShape.port, 'listen', 'port'),
  }
  const own: Listener = {
    name: 'admin',
    host: read(adminShape.host, 'admin', 'host'),
    port: read(adminShape.port, 'admin', 'port'),
  }
  const access: Access = {
    host: own.host,
    token: childAt(tree, ['admin', 'token']) !== undefined, // a broken one is told of by itself
    tls: childAt(tree, ['admin', 'tls']) !== undefined,
    insecure: read(adminShape.insecure, 'admin', 'insecure') === true,
  }
  const pair = read(adminShape.tls, 'admin', 'tls')
  const endpoints = endpointsIn(tree)
  const shutdownShape = shutdown.unwrap().shape
  return [
    ...sameAddress(open, own),
    ...openAdmin(access),
    ...metricsTokenFindings(
      access.token,
      read(adminShape.token, 'admin', 'token'),
      read(adminShape.metricsToken, 'admin', 'metricsToken'),
    ),
    ...(!pair ? [] : certificateFindings(['admin', 'tls'], pair)),
    ...listenTlsFindings(tree),
    ...http2Findings(tree),
    ...authFindings(tree),
    ...clientFindings(tree),
    ...mtlsFindings(tree),
    ...boundFindings(tree),
    ...cacheFindings(tree),
    ...endpoints.flatMap((endpoint) => [open, own].flatMap((listener) => ownListener(endpoint, listener))),
    ...(read(allowSandbox, 'allowSandbox') === false ? openSandbox(open, endpoints) : []),
    ...upstreamFindings(tree),
    ...rotatedStdout(tree),
    ...requestIdEdits(tree, read(requestId.unwrap().shape.header, 'requestId', 'header')),
    ...shutdownOrder(
      read(shutdownShape.wait, 'shutdown', 'wait'),
      read(shutdownShape.deadline, 'shutdown', 'deadline'),
    ),
  ]
}

interface Listener {
  readonly name: 'listen' | 'admin'
  readonly host: string | undefined
  readonly port: number | undefined
}

/** Is how far the operator's listener can be reached, and what guards it. */
interface Access {
  readonly host: string | undefined
  readonly token: boolean
  readonly tls: boolean
  readonly insecure: boolean
}

interface Endpoint {
  readonly path: Path
  readonly origin: string
}

/** Port 0 is free by definition: the system chooses it. */
function sameAddress(open: Listener, own: Listener): readonly Finding[] {
  if (open.port === undefined || open.port === 0 || open.port !== own.port) return []
  if (open.host === undefined || own.host === undefined) return []
  if (!reaches(open.host, own.host) && !reaches(own.host, open.host)) return []
  const message = 'the admin listener is on the address of the public one'
  const hint = 'choose another port: the pages of the operator must not be public'
  return [{ path: ['admin', 'port'], message, expected: 'an address of its own', found: 'that of listen', hint }]
}

function openAdmin({ host, token, tls, insecure }: Access): readonly Finding[] {
  if (host === undefined || isLoopback(host)) return []
  const path: Path = ['admin', 'host']
  const told = { path, message: 'the admin listener would be open to other machines', found: 'another address' }
  const expected = 'a loopback address, or one that is guarded'
  return [
    ...(token
      ? []
      : [{ ...told, expected, hint: 'set admin.token: file:/run/secrets/…, made with: openssl rand -hex 32' }]),
    ...(tls || insecure
      ? []
      : [{ ...told, expected, hint: 'set admin.tls, or admin.insecure: true where the network itself is safe' }]),
  ]
}

/** A token that opens less stands beside one that opens more, and is another one. */
function metricsTokenFindings(
  hasToken: boolean,
  token: string | null | undefined,
  metricsToken: string | null | undefined,
) {
  if (typeof metricsToken !== 'string' || (hasToken && token !== metricsToken)) return []
  const path: Path = ['admin', 'metricsToken']
  const expected = 'another token than admin.token, beside it'
  return hasToken
    ? [{ path, message: 'this token opens everything', expected, found: 'the same as admin.token', hint: make }]
    : [{ path, message: 'without admin.token everything is open', expected, found: 'no admin.token', hint: make }]
}

const make = 'make each with: openssl rand -hex 32'

function ownListener({ path, origin }: Endpoint, { name, host, port }: Listener): readonly Finding[] {
  if (origin === 'sandbox' || host === undefined || port === undefined || port === 0) return []
  const url = new URL(origin)
  const target = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  if (target !== port || !reaches(url.hostname, host)) return []
  const message = `this is the gateway's own ${name === 'listen' ? 'public' : 'admin'} listener`
  const hint = `write the address of the upstream, or change ${name}.port`
  return [{ path, message, expected: 'an endpoint elsewhere', found: `the address of ${name}`, hint }]
}

function openSandbox({ host }: Listener, endpoints: readonly Endpoint[]): readonly Finding[] {
  const names = [...new Set(endpoints.filter(({ origin }) => origin === 'sandbox').map(({ path }) => String(path[1])))]
  if (host === undefined || isLoopback(host) || names.length === 0) return []
  return [
    {
      path: ['listen', 'host'],
      message: 'the sandbox would stand behind an address that other machines reach',
      expected: `a loopback address while these are on sandbox: ${names.join(', ')}`,
      found: 'another address',
      hint: 'give them real endpoints, or set allowSandbox: true',
    },
  ]
}

function requestIdEdits(tree: unknown, header: string | null | undefined): readonly Finding[] {
  if (typeof header !== 'string') return []
  return groups.flatMap((group) =>
    ['request', 'response'].flatMap((direction) => {
      const path: Path = ['upstreams', group, direction]
      const told = {
        message: 'this field carries the request id and is set by the gateway',
        expected: 'another field',
        found: 'the field of requestId.header',
        hint: 'remove this line, or rename requestId.header',
      }
      const same = (name: unknown): boolean => typeof name === 'string' && name.toLowerCase() === header.toLowerCase()
      const set = Object.keys(Object(childAt(tree, [...path, 'set']) ?? {})).filter(same)
      const remove = childAt(tree, [...path, 'remove'])
      const removed = Array.isArray(remove) ? remove.flatMap((name, index) => (same(name) ? [index] : [])) : []
      return [
        ...set.map((name): Finding => ({ path: [...path, 'set', name], atKey: true, ...told })),
        ...removed.map((index): Finding => ({ path: [...path, 'remove', index], ...told })),
      ]
    }),
  )
}

function rotatedStdout(tree: unknown): readonly Finding[] {
  const rotate = childAt(tree, ['audit', 'rotate'])
  if (childAt(tree, ['audit', 'file']) !== 'stdout' || rotate === undefined || rotate === 'none' || rotate === false)
    return []
  return [
    {
      path: ['audit', 'rotate'],
      message: 'standard output cannot be rotated by whoever writes to it',
      expected: 'none where audit.file is stdout',
      found: 'a size',
      hint: 'remove this line, or write the path of a file as audit.file',
    },
  ]
}

function shutdownOrder(wait: number | undefined, deadline: number | undefined): readonly Finding[] {
  if (wait === undefined || deadline === undefined || wait < deadline) return []
  const hint = 'the deadline is for the whole shutdown: make it longer than the wait'
  const message = 'the deadline is over before the wait is'
  return [{ path: ['shutdown', 'deadline'], message, expected: 'more than shutdown.wait', found: 'no more', hint }]
}

/** Lists the endpoints that can be read, in the short and the long form. */
function endpointsIn(tree: unknown): readonly Endpoint[] {
  return groups.flatMap((group) => {
    const path: Path = ['upstreams', group]
    const list = childAt(tree, [...path, 'endpoints'])
    const nodes = Array.isArray(list)
      ? list.map((node: unknown, index) => ({ node, path: [...path, 'endpoints', index] }))
      : [{ node: childAt(tree, path), path }]
    return nodes.flatMap(({ node, path }): Endpoint[] => {
      const { data } = endpointSchema.safeParse(node)
      return data === undefined ? [] : [{ path, origin: data.origin }]
    })
  })
}
