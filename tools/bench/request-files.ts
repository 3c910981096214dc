/**
 * Lists the files of src in which one GET runs a function, by V8's coverage, in a warm gateway of default configuration
 * that is one process: `npx node tools/bench/request-files.ts [CHECKOUT]`. The gateway is this file's child, and has it
 * preloaded, so that it counts itself.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, get } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { groups } from '../../src/operations.ts'

/** Counts from now on, and sends the files of the functions that have run since it was last asked. */
const countInGateway = async (): Promise<void> => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.filter(({ functions }) => functions.some(({ ranges: [all] }) => (all?.count ?? 0) > 0))
    process.send?.(ran.flatMap(({ url }) => url.match(/(?<=\/src\/).*\.ts$/)?.[0] ?? []))
  })
  process.channel?.unref()
}

const countOneGet = async (checkout: string): Promise<readonly string[]> => {
  const upstream = createServer((_, response) => response.end('{"response":42}')).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const folder = mkdtempSync(join(tmpdir(), 'request-files-'))
  const file = join(folder, 'gateway.yaml')
  const upstreams = Object.fromEntries(groups.map((group) => [group, url]))
  const reload = { watch: false } // looks at the file four times a second, whatever the request does
  writeFileSync(file, JSON.stringify({ listen: { host: '127.0.0.1', port: 0 }, admin: { port: 0 }, reload, upstreams }))
  const gateway = fork(join(checkout, 'src/main.ts'), ['serve', '--config', file], {
    execArgv: ['--import', import.meta.filename],
    silent: true,
  })
  let log = ''
  gateway.stdout?.on('data', (text) => {
    log += text
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const request = async (port: number): Promise<void> => {
    const [response] = await once(get({ port, path: '/market/insights', agent }), 'response')
    if (response.statusCode !== 200) throw new Error(`the gateway responded with ${response.statusCode}`)
    await once(response.resume(), 'end')
    await sleep(50) // the access line
  }
  const filesSinceThen = async (): Promise<readonly string[]> => {
    gateway.send('files')
    const [files] = await once(gateway, 'message')
    return files
  }
  try {
    while (!log.includes('"listening"')) await once(gateway.stdout ?? gateway, 'data')
    const port = Number(/"port":(\d+)/.exec(log)?.[1])
    for (let i = 0; i < 20; i++) await request(port)
    await sleep(6000) // the thread that read the file has ended
    await request(port)
    await filesSinceThen()
    await request(port)
    return await filesSinceThen()
  } finally {
    gateway.kill()
    upstream.close()
    agent.destroy()
    rmSync(folder, { recursive: true })
  }
}

if (process.send !== undefined) await countInGateway()
else {
  const files = await countOneGet(process.argv[2] ?? join(import.meta.dirname, '../..'))
  console.log([...files].sort().join('\n'))
  console.log(`${files.length} files`)
}
