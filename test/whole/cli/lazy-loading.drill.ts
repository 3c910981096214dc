/**
 * A real process loads no features that are off, nor their packages. Imports of the sources:
 * `test/architecture.test.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { configText } from '../../helpers/gateway.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'

/** Starts a gateway that records each package that the main threads of its processes load. */
const watched = (workers: number) => {
  const folder = folderWith({})
  const [file, notes] = [join(folder, 'gateway.yaml'), join(folder, 'notes')]
  const write = (more: object): void =>
    writeFileSync(file, configText({ workers, upstream: 'sandbox', shutdown: { wait: '0s' }, ...more }))
  write({})
  const hook = `
    import { appendFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    import { isMainThread } from 'node:worker_threads'
    const load = (url, context, next) => {
      appendFileSync(${JSON.stringify(notes)}, url + '\\n')
      return next(url, context)
    }
    if (isMainThread) registerHooks({ load })
    if (isMainThread) process.on('exit', () => appendFileSync(${JSON.stringify(notes)}, process.moduleLoadList.join('\\n')))`
  const served = serve(file, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` })
  const packages = (): readonly string[] => [
    ...new Set(
      [...readFileSync(notes, 'utf8').matchAll(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/g)].map(([, name = '']) => name),
    ),
  ]
  /** Lists the modules of Node that were loaded, after the gateway has ended. */
  const builtIn = (): readonly string[] =>
    [...readFileSync(notes, 'utf8').matchAll(/^NativeModule (.+)$/gm)].map(([, name = '']) => name)
  return { served, write, packages, builtIn }
}

const off =
  /^(undici|ws|@fastify\/reply-from|zod|yaml|ajv|jose|@redis\/.*|@opentelemetry\/.*|pino-pretty|fflate|uplot|idiomorph)$/

test.each([1, 2])(
  'tracing modules are loaded where it is on, and none before, nor a client of Node’s that sends nothing: workers %i',
  async (workers) => {
    const { served, write, packages, builtIn } = watched(workers)
    await waitForListening(served)
    const before = packages()

    write({ tracing: { otlp: 'http://127.0.0.1:1/v1/traces' } })
    served.signal('SIGHUP')
    await served.line(({ msg }) => msg === 'configuration applied')
    const after = packages()
    served.signal('SIGTERM')
    await served.exited

    expect(before).toContain('fastify')
    expect(before.filter((name) => off.test(name))).toEqual([])
    expect([...new Set(after.filter((name) => off.test(name)).map((name) => name.split('/')[0]))]).toEqual([
      '@opentelemetry',
    ])
    expect(builtIn()).toContain('http')
    expect(builtIn()).not.toContain('internal/deps/undici/undici')
  },
)
