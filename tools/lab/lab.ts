import { allOperations, type Group } from '../../src/operations.ts'
import type { Settings } from '../../test/helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../test/helpers/live-gateway.ts'
import { call, type WireRequest } from '../../test/helpers/wire.ts'

/** What a client got for a request. */
export interface LabOutcome {
  readonly id: string
  /** The status, with the code when the gateway itself has responded; `cut`: not a whole response. */
  readonly said: string
  readonly body: string
  readonly retryAfter: string | null
}

let ids = 0

/** Makes an id for a request, or several with one beginning. */
export const newId = (): string => `r${++ids}`

/** Finds the operation behind which a group stands: its first. */
export const firstOperationOf = (group: Group): (typeof allOperations)[number] => {
  const found = allOperations.find((operation) => operation.group === group)
  if (found === undefined) throw new Error(`no operation of ${group}`)
  return found
}

/** Sends a request to a group on a connection of its own, and returns what came of it. */
export const sendToGroup = async (
  port: number,
  group: Group,
  id: string,
  request: WireRequest = {},
): Promise<LabOutcome> => {
  const { method, path } = firstOperationOf(group)
  const fields = [...(request.fields ?? []), 'X-Lab-Id', id]
  const response = await call(port, { ...request, method, target: path, fields }).catch(() => null)
  if (response === null) return { id, said: 'silence', body: '', retryAfter: null }
  const body = response.body.toString()
  const at = response.fields.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'retry-after')
  const retryAfter = at === -1 ? null : (response.fields[at + 1] ?? null)
  return { id, said: response.whole ? summarize(response.status, body) : 'cut', body, retryAfter }
}

/** Sums up a response: its status, and the code of the gateway's own. */
export const summarize = (status: number, body: string): string => {
  const code = /"code":"([a-z-]+)"/.exec(body)?.[1]
  return code === undefined ? String(status) : `${status} ${code}`
}

/** Boots a gateway whose groups stand in front of what `upstreams` says; groups without a request go to the sandbox. */
export const bootLab = (
  upstreams: Settings['upstreams'],
  more: Settings = {},
): Promise<LiveGateway & { port: number }> =>
  bootLiveGateway({ upstreams: upstreams ?? {}, log: { access: false }, ...more }).then((live) => ({
    ...live,
    port: live.gateway.address.port,
  }))

/** A group in /status, as far as these tests read it. */
export interface GroupStatus {
  readonly inFlight: number
  readonly breaker: { readonly state: string } | null
  readonly endpoints: readonly {
    readonly url: string
    readonly state: string
    readonly inFlight: number
    readonly ejections: number
  }[]
}

/** Reads what /status says of a group. */
export const fetchGroupStatus = async ({ admin }: LiveGateway, group: Group): Promise<GroupStatus> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  return (body.upstreams as unknown as Record<Group, GroupStatus>)[group]
}

// Long after anything that is still to come: a test that waits for what does not come ends, and says where.
const giveUpMs = 20_000

/** Waits until `ready` holds, looking again whenever something happens on the loop. For what has no event. */
export const waitUntil = async (ready: () => boolean): Promise<void> => {
  const from = performance.now()
  while (!ready()) {
    if (performance.now() - from > giveUpMs) throw new Error(`it never came: ${ready}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
