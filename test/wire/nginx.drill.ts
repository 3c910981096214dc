import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { allOperations, type Operation } from '../../src/operations.ts'
import { folderWith } from '../core/config/helper.ts'
import { startNginx } from '../helpers/nginx.ts'
import { needProgram } from '../helpers/program.ts'
import { serve, waitForListening } from '../helpers/serve-process.ts'

const nginx = await needProgram('nginx')
const shipped = readFileSync(new URL('../../config/gateway.yaml', import.meta.url), 'utf8')

const query = '?of=a%20b&of=&%E2%82%AC=x+y'
const bodyOf = ({ id, method }: Operation): string => (method === 'POST' ? `{"of": "${id}",\t"n":1.50}` : '')

/** Asks for each of the nine operations. */
const callTheNine = async (port: number) => {
  const responses = []
  for (const operation of allOperations) {
    const { id, method, path } = operation
    const post = { body: bodyOf(operation), headers: { 'Content-Type': 'application/json' } }
    const got = await fetch(`http://127.0.0.1:${port}${path}${query}`, { method, ...(method === 'POST' && post) })
    const [sandbox, named] = [got.headers.get('x-sandbox'), got.headers.get('x-operation')]
    responses.push({ id, status: got.status, sandbox, operation: named, body: await got.text() })
  }
  return responses
}

describe.skipIf(nginx.missing)('the nine against a server of another make', () => {
  test('are on the sandbox as shipped, and on nginx once the lines of the groups say so', async () => {
    const upstream = await startNginx(nginx.path ?? '')
    onTestFinished(() => upstream.stop())
    const onSandbox = `${shipped}\nshutdown: { wait: 0s }\nreload: { watch: false }\n`
    const file = join(folderWith({ 'gateway.yaml': onSandbox }), 'gateway.yaml')
    onTestFinished(() => rmSync(dirname(file), { recursive: true }))

    const served = serve(file, { PORT: '0', ADMIN_PORT: '0' })
    const port = await waitForListening(served)
    const echoed = await callTheNine(port)
    const before = await upstream.requests()
    const onNginx = onSandbox.replaceAll(/^( {2}[a-z]+): sandbox/gm, `$1: ${upstream.origin}`)
    writeFileSync(file, onNginx)
    served.signal('SIGHUP')
    await served.line(({ msg }) => msg === 'configuration applied')
    const responded = await callTheNine(port)
    served.signal('SIGTERM')

    expect(echoed.map(({ id, status, sandbox }) => ({ id, status, sandbox }))).toEqual(
      allOperations.map(({ id }) => ({ id, status: 200, sandbox: '1' })),
    )
    expect(echoed.map(({ body }) => JSON.parse(body))).toMatchObject(
      allOperations.map(({ id, group, method, path }) => ({
        ...{ operation: id, group, method, path, query: query.slice(1) },
      })),
    )
    expect(onNginx.split('\n').filter((line) => line.includes(upstream.origin))).toHaveLength(8)
    expect(before).toEqual([])
    expect(responded).toEqual(
      allOperations.map(({ id, method, path }) => ({
        ...{ id, status: 200, sandbox: null, operation: id, body: `nginx ${method} ${path}${query}` },
      })),
    )
    expect(await upstream.requests()).toEqual(
      allOperations.map((operation) => ({
        ...{ operation: operation.id, method: operation.method, target: `${operation.path}${query}` },
        host: upstream.origin.slice('http://'.length),
        ...{ contentType: operation.method === 'POST' ? 'application/json' : '', body: bodyOf(operation) },
      })),
    )
    expect(await served.ended).toEqual({ code: 0, signal: null })
    expect(served.errors()).toBe('')
  })
})
