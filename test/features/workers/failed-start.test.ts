import { type AddressInfo, createServer } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { startWorkerPool } from '../../../src/features/workers/worker-pool.ts'
import { logInMemory, testConfig } from '../../helpers/gateway.ts'

afterEach(() => vi.unstubAllEnvs())

const start = async (port: number) => {
  const { log, lines } = logInMemory()
  const starting = startWorkerPool({
    size: 2,
    initial: { config: testConfig(), overrides: new Overrides(), sandboxOrigin: 'http://127.0.0.1:9' },
    bindTarget: { host: '127.0.0.1', port },
    log,
    primary: {} as never,
    forwardLines: () => {},
  })
  const error = await starting.catch((reason: unknown) => reason)
  return { error, lines }
}

test('a port in use is found before a worker is started', async () => {
  const occupied = createServer()
  await new Promise<void>((resolve) => occupied.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void occupied.close())

  const { error, lines } = await start((occupied.address() as AddressInfo).port)

  expect(error).toMatchObject({ code: 'EADDRINUSE' })
  expect(lines).toEqual([])
})

test('a worker that cannot start is a start that failed: it is not tried again and again', async () => {
  const script = 'if (process.argv[1].endsWith("/src/features/workers/worker-main.ts")) process.exit(7)'
  vi.stubEnv('NODE_OPTIONS', `--import=data:text/javascript,${encodeURIComponent(script)}`)

  const { error, lines } = await start(0)

  expect(String(error)).toMatch(/worker [12] cannot serve: it ended with 7 before it did/)
  expect(lines.map(({ msg }) => msg)).toEqual(['worker started', 'worker started'])
})
