/** A gateway that learns from hostile clients: its memory is bounded, whatever they send. */
import { Agent, request as httpRequest } from 'node:http'
import { expect, test } from 'vitest'
import { bootGatewayProcess } from '../../../../helpers/gateway-process.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const word = (): string => Math.random().toString(36).replace(/[\d.]/g, '')

/** A body of names that come once, some of which pass for words; of lists, and of levels. */
const hostileBody = (): unknown => {
  const members = Array.from({ length: 30 }, () => [word(), Math.random() < 0.3 ? { [word()]: word() } : Math.random()])
  const few = { [word().slice(0, 1)]: { [word().slice(0, 2)]: [{ [word().slice(0, 1)]: word() }] } }
  let deep: unknown = 1
  for (let level = 0; level < 60; level++) deep = { [word().slice(0, 1)]: deep }
  return { ...Object.fromEntries(members), ...few, deep }
}

const send = (port: number, agent: Agent): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'Content-Type': `application/${Math.random() < 0.5 ? 'json' : word()}`, [`x-${word()}`]: word() }
    const path = `/valuation/score?${word()}=${word()}&${word().slice(0, 1)}=${Math.random()}`
    const outgoing = httpRequest({ host: '127.0.0.1', port, method: 'POST', path, headers, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify(hostileBody()))
  })

test('after 8,000 hostile requests a gateway that learns takes no more than after 4,000', {
  timeout: 900_000,
}, async () => {
  const upstream = await httpUpstream(({ body }, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
  })
  const gateway = await bootGatewayProcess({
    upstream: upstream.url,
    contract: { learn: true, enums: true },
    log: { access: false },
  })
  gateway.stdout().resume()
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const send4000 = async (): Promise<number> => {
    let left = 4_000
    const sendSome = async (): Promise<void> => {
      while (left-- > 0) expect(await send(gateway.port, agent)).toBe(200)
    }
    await Promise.all(Array.from({ length: 16 }, sendSome))
    return (await gateway.census()).residentBytes
  }

  const first = await send4000()
  const second = await send4000()
  agent.destroy()

  console.log(`${Math.round(first / 2 ** 20)} MiB, then ${Math.round(second / 2 ** 20)} MiB`)
  expect(second - first).toBeLessThan(48 * 2 ** 20)
})
