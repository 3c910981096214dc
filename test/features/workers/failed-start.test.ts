/** A gateway of several processes that cannot start behaves as one of a single process does, in the same words. */
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { configText } from '../../helpers/gateway.ts'
import { serve } from '../../helpers/serve-process.ts'

test('a port in use is one line, exit 1, and no worker is started', async () => {
  const occupied = createServer()
  await new Promise<void>((resolve) => occupied.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void occupied.close())
  const { port } = occupied.address() as AddressInfo
  const file = join(folderWith({ 'gateway.yaml': configText({ workers: 2, listen: { port } }) }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))

  const gateway = serve(file)
  const { code } = await gateway.ended

  expect(code).toBe(1)
  expect(gateway.lines).toEqual([])
  expect(gateway.errors()).toBe(
    `lender-gateway: cannot listen on 127.0.0.1:${port}: another process does; stop it, or change listen.port\n`,
  )
})

test('a worker that cannot start is a start that failed: it is not tried again and again', async () => {
  const file = join(folderWith({ 'gateway.yaml': configText({ workers: 2 }) }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  const script = 'if (process.argv[1].endsWith("/src/features/workers/worker-main.ts")) process.exit(7)'

  const gateway = serve(file, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` })
  const { code } = await gateway.ended

  expect(code).toBe(1)
  expect(gateway.errors()).toMatch(/^lender-gateway: worker [12] cannot serve: it ended with 7 before it did\n$/)
  expect(gateway.lines.map(({ msg }) => msg)).toEqual(['worker started', 'worker started'])
})
