/** Statuses as a gateway sends them, and their text by the command. */

import type { ServerResponse } from 'node:http'
import { statusShape } from '../../../src/core/admin/api/status.ts'
import { renderStatus } from '../../../src/core/admin/api/status-text.ts'
import type { ConfigProblem } from '../../../src/core/config/problem.ts'
import type { EndpointStatus } from '../../../src/core/runtime/status/endpoint.ts'
import type { Status } from '../../../src/core/runtime/status/status-part.ts'
import type { UpstreamStatus } from '../../../src/core/runtime/status/upstreams.ts'
import { idleStatus, idleUpstreamStatus } from '../../helpers/idle-features.ts'
import { findingInputs } from '../admin/findings/finding-inputs.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from './scripted-admin.ts'

const inputs = findingInputs()

export const endpointStatusWith = (url: string, more: object = {}): EndpointStatus => ({
  ...{ url, weight: 100, sandbox: false, inFlight: 0, pending: 0, state: 'up', since: null, reason: null },
  ...{ requests: 18, failures: 0, ejections: 0, countedSince: '2026-11-21T00:05:00.000Z', failingSince: null },
  ...{ lastSuccess: '2026-11-21T02:04:50.000Z', ejectedForSeconds: null, latencyMs: null, certificate: null },
  ...{ drainUntil: null, readyUntil: null, setBy: null, setAt: null, setReason: null, lastProbe: null },
  ...more,
})

export const upstreamStatusWith = (...endpoints: readonly EndpointStatus[]): UpstreamStatus => {
  const inFlight = endpoints.reduce((sum, endpoint) => sum + endpoint.inFlight, 0)
  return {
    ...{ inFlight, balance: 'p2c', breaker: null, endpoints },
    ...idleUpstreamStatus(inputs),
  } as object as UpstreamStatus
}

const file = '/etc/lender-gateway/gateway.yaml'
const busy = { inFlight: 2, requests: 40, latencyMs: 12.5 }

const ownStatus = {
  ...{ version: '0.2.0', instance: null, state: 'serving', ready: true, notReady: null, findings: [] },
  ...{ uptimeSeconds: 93_784.2, node: 'v24.21.0', pid: 1, warnings: [], certificates: [], operations: {}, retiring: 0 },
  config: {
    ...{ file, path: file, hash: '3f1c0a9be2d4', loadedAt: '2026-11-21T02:00:07.512Z', loadedBy: 'file' },
    ...{
      requestedBy: null,
      fileDiffers: false,
      differingFiles: [],
      lastRejection: null,
      nextTry: null,
      previous: null,
    },
  },
  upstreams: {
    valuation: upstreamStatusWith(endpointStatusWith('sandbox', { sandbox: true })),
    risk: upstreamStatusWith(endpointStatusWith('http://risk.internal:8080', busy)),
  },
  log: { level: 'info', dropped: 0 },
}

export const healthyStatus = { ...ownStatus, ...idleStatus(inputs) } as object as Status

export const toOverview = (status: object, operations: readonly object[] = []) => ({
  ...{ at: '2026-11-21T02:05:00.000Z', status, operations, commands: [], reloads: [] },
  ...{ rejections: [], drift: [], comparisons: [] },
})

export const configProblem: ConfigProblem = {
  ...{ file, line: 12, column: 9, path: 'upstreams.market', message: 'not a URL', found: '"market-b:8080"' },
  expected: 'a URL such as http://risk.internal:8080, or sandbox',
  hint: 'put http:// or https:// in front',
}

/** Serves a status, as text for `Accept: text/plain`. */
export const statusResponse =
  (body: unknown) =>
  (response: ServerResponse): void => {
    if (response.req.headers.accept?.startsWith('text/plain') !== true) return jsonResponse(body)(response)
    response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' })
    response.end(renderStatus(statusShape(body, ''), Date.parse('2026-11-21T02:05:00Z')))
  }

export const runStatus = async (body: unknown, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(statusResponse(body))
  const { code, out, err } = await runCommand(['status', '--admin', admin.url, ...args], {
    LENDER_GATEWAY_ADMIN_TOKEN: token,
  })
  return { code, err: err.replaceAll(admin.url, 'http://gateway'), out: out.replaceAll(admin.url, 'http://gateway') }
}
