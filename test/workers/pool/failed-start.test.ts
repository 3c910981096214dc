/** What comes of a gateway of several processes that cannot start: what comes of one, in the same words. */
import { rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { folderWith } from '../../config/helper.ts'
import { configText } from '../../helpers/gateway.ts'
import { serve } from '../../helpers/serve-process.ts'

test('a port in use is one line, exit 1, and no worker is started in vain', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void taken.close())
  const { port } = taken.address() as AddressInfo
  const file = join(folderWith({ 'gateway.yaml': configText({ workers: 2, listen: { port } }) }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))

  const served = serve(file)
  const { code } = await served.ended

  expect(code).toBe(1)
  expect(served.lines).toEqual([])
  expect(served.errors()).toBe(
    `lender-gateway: cannot listen on 127.0.0.1:${port}: another process does; stop it, or change listen.port\n`,
  )
})

test('a worker that cannot begin is a start that failed: it is not tried again and again', async () => {
  const file = join(folderWith({ 'gateway.yaml': configText({ workers: 2 }) }), 'gateway.yaml')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  const script = 'if (process.argv[1].endsWith("workers/child/worker-main.ts")) process.exit(7)'

  const served = serve(file, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` })
  const { code } = await served.ended

  expect(code).toBe(1)
  expect(served.errors()).toMatch(/^lender-gateway: worker [12] cannot serve: it ended with 7 before it did\n$/)
  expect(served.lines.map(({ msg }) => msg)).toEqual(['worker started', 'worker started'])
})
