/** The preflight over real sockets. Retries: `reloader-*.test.ts`. */
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'

const settings = { reload: { watch: false, preflight: 'connect' } }

const reload = ({ admin }: LiveGateway, query = '') => fetchAdmin(`${admin}/reload${query}`, 'POST')
const configOf = async ({ admin }: LiveGateway) => (await fetchAdmin(`${admin}/status`)).body.config

/** Boots a gateway whose file has been edited to lead to a port without a server. */
const misled = async () => {
  const live = await bootLiveGateway(settings)
  const port = await freePort()
  live.edit({ ...settings, upstreams: { market: `http://127.0.0.1:${port}` } })
  return { live, port }
}

describe('an edit that leads nowhere', () => {
  test('is rejected with the reason and the time of the next try, and the log and /status say so', async () => {
    const { live, port } = await misled()
    const { hash } = live.gateway.config

    const { status, body } = await reload(live)

    const problem = {
      line: 1,
      path: 'upstreams.market.endpoints',
      message: 'no new endpoint of market can be reached',
      found: `http://127.0.0.1:${port} the endpoint refuses connections (ECONNREFUSED)`,
    }
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'endpoints-not-reached', hash, nextTry: expect.stringMatching(/Z$/) })
    expect(body.problems).toMatchObject([problem])
    expect(await configOf(live)).toMatchObject({
      ...{ hash, fileDiffers: true, nextTry: expect.stringMatching(/Z$/), lastRejection: { problems: [problem] } },
    })
    const rejection = {
      msg: 'configuration rejected: the running configuration stays in effect',
      problems: 1,
      tries: 1,
    }
    for (const line of [rejection, { ...problem, msg: 'configuration problem' }])
      expect(live.lines).toContainEqual(expect.objectContaining({ ...line, level: 50 }))
  })

  test('is logged once, then in a line a try, and takes effect by itself as soon as a server listens', async () => {
    const { live, port } = await misled()
    await reload(live)
    const still = await live.line(({ msg }) => msg === 'configuration still held back')

    const server = createServer((socket) => void socket.on('error', () => {}).end())
    onTestFinished(() => void server.close())
    server.listen(port, '127.0.0.1')
    const applied = await live.line(({ msg }) => msg === 'configuration applied')

    expect(still).toMatchObject({ level: 40, tries: 2, nextTry: expect.stringMatching(/Z$/) })
    expect(applied).toMatchObject({ trigger: 'preflight', groups: ['market'] })
    expect(live.lines.filter(({ msg }) => msg === 'configuration problem')).toHaveLength(1)
    expect(await configOf(live)).toMatchObject({ loadedBy: 'preflight', fileDiffers: false, nextTry: null })
  })

  test('is taken all the same with ?force or ?force=true, and the log says so', async () => {
    const { live } = await misled()

    const taken = await reload(live, '?force')
    live.edit({ ...settings, upstreams: { market: `http://127.0.0.1:${await freePort()}` } })
    const again = await reload(live, '?force=true')

    for (const { status, body } of [taken, again])
      expect([status, body.result, body.forced]).toEqual([200, 'applied', true])
    const applied = live.lines.filter(({ msg }) => msg === 'configuration applied')
    expect(applied).toMatchObject([1, 2].map(() => ({ trigger: 'request', forced: true })))
  })

  test('is not taken, nor read, with anything else', async () => {
    const live = await bootLiveGateway(settings)
    live.edit({ ...settings, upstreams: { market: 'http://127.0.0.1:1' } })

    for (const query of ['force=false', 'force=1', 'FORCE', 'force&force', 'force=true&x', 'froce', 'force%3Dtrue']) {
      const { status, body } = await reload(live, `?${query}`)
      expect([status, body.detail]).toEqual([400, expect.stringContaining('?force or ?force=true')])
    }
    expect(live.lines.filter(({ msg }) => msg.startsWith('configuration'))).toEqual([])
  })
})
