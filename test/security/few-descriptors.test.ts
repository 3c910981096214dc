import { expect, onTestFinished, test } from 'vitest'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { bareGet } from '../helpers/wire.ts'
import { serveWithFewFiles } from './few-descriptors.ts'

// The attack: connections cost a client nothing, and each takes a descriptor of the process. Without a free one, no
// upstream is connected to, no probe gets its response, and no operator can log in.
test.skipIf(process.platform !== 'linux')(
  'clients that take all connections there are leave descriptors to upstreams and operators, and the log says how many',
  async () => {
    const upstream = await httpUpstream()
    const { gateway, port, admin } = await serveWithFewFiles({ upstream: upstream.url })

    const clients: RawClient[] = []
    for (let n = 0; n < 250; n++) clients.push(await rawClient(port))
    onTestFinished(() => {
      for (const client of clients) client.close()
    })
    const [first] = clients
    first?.send(bareGet())
    const status = parseStatus((await first?.until(isWholeResponse)) ?? '')
    const ready = await fetch(`http://127.0.0.1:${admin}/ready`)

    expect([status, ready.status]).toEqual([200, 200])
    expect(await gateway.line(({ msg }) => msg === 'too few file descriptors for the configuration')).toMatchObject({
      ...{ level: 40, limit: 200, clients: 80, needed: 10_000 + 8 * 256 + 512 },
    })
    expect(await gateway.line(({ msg }) => msg === 'connections rejected')).toMatchObject({
      setting: 'maxConnections',
    })
  },
)
