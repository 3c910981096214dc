/** Load whose every request has an id of its own, so that each can be looked for afterwards. */
import { Agent, request } from 'node:http'

/** What came of it. */
export interface IdentifiedLoadResult {
  /** The ids of those that got responses. */
  readonly responded: readonly string[]
  readonly failed: readonly string[]
}

/** Sends so many requests, or until it is stopped, so many at once, and calls back after each. */
export const identifiedLoad = async (
  port: () => number,
  total: number,
  atOnce: number,
  after: (done: number) => void = () => {},
  isOver = (): boolean => false,
): Promise<IdentifiedLoadResult> => {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const [responded, failed]: [string[], string[]] = [[], []]
  let next = 0
  const ask = (id: string): Promise<boolean> =>
    new Promise((resolve) => {
      const headers = { 'X-Request-Id': id }
      const asked = request(
        { port: port(), path: '/market/insights', host: '127.0.0.1', agent, headers },
        (response) => {
          response
            .resume()
            .on('end', () => resolve(response.complete))
            .on('error', () => resolve(false))
        },
      )
      asked.on('error', () => resolve(false)).end()
    })
  const lane = async (): Promise<void> => {
    while (next < total && !isOver()) {
      const id = `load-${next++}`
      if (await ask(id)) responded.push(id)
      else failed.push(id)
      after(responded.length)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  agent.destroy()
  return { responded, failed }
}
