/** Clients that ask for much more than is stored. */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { slowReader } from '../slow-clients.ts'
import { type Ongoing, ongoing } from '../traffic.ts'
import { bytesOf, type Item, isBroken, languages, popular, stockSize, target } from './stock.ts'

/** What they got. */
export class Tally {
  requests = 0
  left = 0
  brokenOff = 0
  invalidated = 0
  /** The first few that went wrong, in words. */
  readonly wrong: string[] = []
  wrongs = 0

  /** Notes a response that is not what was asked for. */
  mind(what: string): void {
    this.wrongs++
    if (this.wrong.length < 5) this.wrong.push(what)
  }
}

/** What a client got of a response; null: it broke off, or none came. */
interface ClientResponse {
  readonly status: number
  readonly bytes: number
}

const together = 24
const leavers = 4
const slowOnes = 4

/** Makes them ask until they are stopped. */
export const asking = (port: number, tally: Tally): Ongoing => {
  const agent = new Agent({ keepAlive: true, maxSockets: together })
  const going = [
    ongoing(together, 1, () => askFor(agent, port, any(), tally)),
    ongoing(leavers, 20, () => leave(port, any(), tally)),
    ongoing(slowOnes, 100, () => dawdle(port, any())),
    ongoing(1, 250, () => invalidate(agent, port, any(), tally)),
  ]
  return {
    async stop() {
      await Promise.all(going.map((each) => each.stop()))
      agent.destroy()
    },
  }
}

const below = (bound: number): number => Math.floor(Math.random() * bound)

const any = (): Item => ({
  nth: below(Math.random() < 0.5 ? popular : stockSize),
  language: languages[below(languages.length)] ?? 'de',
})

const askFor = async (agent: Agent, port: number, item: Item, tally: Tally): Promise<void> => {
  tally.requests++
  const received = await hear(agent, port, target(item.nth), { 'Accept-Language': item.language })
  const what = `${JSON.stringify(item)}: ${JSON.stringify(received)} instead of ${bytesOf(item)} bytes`
  if (isBroken(item.nth)) {
    if (received === null) tally.brokenOff++
    else tally.mind(what)
  } else if (received?.status !== 200 || received.bytes !== bytesOf(item)) tally.mind(what)
}

/** Asks, and returns what came. */
export const hear = (
  agent: Agent,
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<ClientResponse | null> =>
  new Promise((resolve) => {
    const asked = request({ agent, port, host: '127.0.0.1', path, method, headers }, (response) => {
      let bytes = 0
      response.on('data', ({ length }: Buffer) => {
        bytes += length
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }))
      response.on('error', () => resolve(null))
    })
    asked.on('error', () => resolve(null))
    asked.end()
  })

/** Leaves before the response, or in it. */
const leave = (port: number, { nth, language }: Item, tally: Tally): Promise<void> =>
  new Promise((resolve) => {
    tally.left++
    const asked = request({
      ...{ agent: false, port, host: '127.0.0.1', path: target(nth) },
      headers: { 'Accept-Language': language },
    })
    asked.on('close', () => resolve())
    asked.on('error', () => {})
    asked.on('response', (response) => {
      response.on('error', () => {})
      response.once('data', () => asked.destroy())
      response.once('end', () => asked.destroy())
    })
    asked.end()
    if (nth % 2 === 0) setTimeout(() => asked.destroy(), nth % 4)
  })

/** Reads little of a response for some seconds, and leaves. */
const dawdle = async (port: number, { nth, language }: Item): Promise<void> => {
  const head = `GET ${target(nth)} HTTP/1.1\r\nHost: gateway\r\nAccept-Language: ${language}\r\n\r\n`
  const socket = slowReader(port, head)
  await pause(5000)
  socket.destroy()
}

/** Does what makes a stored response invalid. */
const invalidate = async (agent: Agent, port: number, { nth }: Item, tally: Tally): Promise<void> => {
  const received = await hear(agent, port, `/valuation/score?nth=${nth}`, {}, 'POST')
  if (received?.status === 201) tally.invalidated++
  else tally.mind(`POST: ${JSON.stringify(received)}`)
}
