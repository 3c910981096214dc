/**
 * What takes its time: exchanges that last longer than many configurations, and an edit that only the default poll
 * finds.
 */
import { createHash } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { expect, test, vi } from 'vitest'
import { fileBindMounted, fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { bootEditedGateway } from '../../../helpers/edited-gateway.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { openServer } from '../../../helpers/steady-load.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'
import { routedTo, showsRouteTo } from './reroute-drill.ts'

// A chunk every tenth of a second for thirty seconds; no two are alike.
const chunks = Array.from({ length: 300 }, (_, n) => createHash('sha512').update(`piece ${n}`).digest())
const everyMs = 100
const whole = Buffer.concat(chunks)
const digest = createHash('sha256').update(whole).digest('hex')

const reloads = 10
// The last one while a tenth is still to come.
const bytesPerReload = Math.floor((whole.length * 0.9) / reloads)
const heldChunks = chunks.length / 10

/** Writes the chunks one by one, and ends. The last tenth waits for `isDue`. */
const drip = (to: { write(chunk: Buffer): unknown; end(): unknown }, isDue: () => boolean): void => {
  let next = 0
  const timer = setInterval(() => {
    if (next >= chunks.length - heldChunks && !isDue()) return
    const chunk = chunks[next++]
    if (chunk !== undefined) return void to.write(chunk)
    clearInterval(timer)
    to.end()
  }, everyMs)
}

/**
 * Sends a request; resolves to its response, with the SHA-256 of its body. `send` writes the body, and `onBytes` is
 * called with how much of the response has arrived each time that more does.
 */
const sendRequest = (
  port: number,
  path: string,
  send: (clientRequest: ClientRequest) => void = (clientRequest) => clientRequest.end(),
  onBytes: (received: number) => void = () => {},
) =>
  new Promise<{ status: number; text: string; sha256: string; seconds: number }>((resolve, reject) => {
    const startedAt = performance.now()
    const method = path === '/inventory/sync' ? 'POST' : 'GET'
    const clientRequest = request({ port, host: '127.0.0.1', method, path, agent: false }, (response) => {
      let body = Buffer.alloc(0)
      response.on('data', (chunk: Buffer) => {
        body = Buffer.concat([body, chunk])
        onBytes(body.length)
      })
      response.on('error', reject)
      response.on('end', () => {
        const sha256 = createHash('sha256').update(body).digest('hex')
        const seconds = (performance.now() - startedAt) / 1000
        resolve({ status: response.statusCode ?? 0, text: body.toString(), sha256, seconds })
      })
    })
    clientRequest.on('error', reject)
    send(clientRequest)
  })

/** Responds to a GET with a slow body, to a POST with the SHA-256 of its own. */
const slowUpstream = (isDue: () => boolean) =>
  openHttpUpstream(({ method, sha256 }, response) => {
    if (method === 'POST') return void response.end(sha256)
    response.writeHead(200)
    drip(response, isDue)
  })

test.concurrent('exchanges of thirty seconds, either way, finish across ten reloads where they began, whose pools then close', {
  timeout: 240_000,
}, async ({ onTestFinished }) => {
  const meanwhile: unknown[] = []
  // On a slow machine the exchanges last for as long as the reloads do.
  const isReloaded = (): boolean => meanwhile.length === reloads
  const old = await slowUpstream(isReloaded)
  onTestFinished(() => old.close())
  const servers = [await openServer(0, onTestFinished), await openServer(1, onTestFinished)] as const
  const way = fileWrittenInPlace(onTestFinished)
  const routeTo = (url: string): void =>
    // An upload takes as long before the head of its response.
    way.write(routedTo(url, '{ watch: false }', 'none'))
  routeTo(old.url)
  const { port, admin, shows } = await bootEditedGateway(way, onTestFinished)
  let received = 0
  const onBytes = (bytes: number): void => {
    received = bytes
  }

  const download = sendRequest(port, '/market/insights', undefined, onBytes)
  const upload = sendRequest(port, '/inventory/sync', (clientRequest) => drip(clientRequest, isReloaded))
  for (let nth = 0; nth < reloads; nth++) {
    await vi.waitUntil(() => received >= (nth + 1) * bytesPerReload, { timeout: 60_000 })
    const next = nth % 2 === 0 ? 0 : 1
    routeTo(servers[next])
    const { body } = await fetchAdmin(`${admin}/reload`, 'POST')
    const { text } = await sendRequest(port, '/market/insights')
    const { retiring } = await shows((status) => status.retiring < 2)
    meanwhile.push({ result: body.result, newOnesGoTo: Number(text[0]), retiring, oldConnections: old.connections() })
  }
  const [down, up] = await Promise.all([download, upload])

  expect(meanwhile).toEqual(
    Array.from({ length: reloads }, (_, nth) => ({
      ...{ result: 'applied', newOnesGoTo: nth % 2, retiring: 1, oldConnections: 2 },
    })),
  )
  expect([down.status, down.sha256]).toEqual([200, digest])
  expect([up.status, up.text]).toEqual([200, digest])
  expect(Math.min(down.seconds, up.seconds)).toBeGreaterThan(29)
  expect(old.begun()).toBe(2)
  await shows(({ retiring }) => retiring === 0)
  await vi.waitUntil(() => old.connections() === 0, { timeout: 60_000 })
})

test.concurrent('an edit outside a bind mount of the file takes effect by itself, by default', {
  timeout: 120_000,
}, async ({ onTestFinished }) => {
  const [one, two] = [await openServer(0, onTestFinished), await openServer(1, onTestFinished)]
  const way = fileBindMounted(onTestFinished)
  way.write(routedTo(one, '{}'))
  const gateway = await bootEditedGateway(way, onTestFinished)

  for (const url of [two, one]) {
    way.write(routedTo(url, '{}'))
    await gateway.shows(showsRouteTo(url))
  }
})
