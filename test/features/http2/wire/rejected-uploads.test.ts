import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { bootHttp2, dialHttp2, missing, readStreamResponse } from '../../../helpers/http2.ts'
import { pseudoRandomBytes } from '../../../helpers/wire.ts'

// More than the windows of a stream and the kernel's buffers take.
const piece = pseudoRandomBytes(64 * 1024)
const pieces = 384 // 24 MiB

describe.skipIf(missing !== null)('over HTTP/2', () => {
  const asking = { ':method': 'POST', ':path': '/unknown' }

  test('what a client still sends after its rejection is taken, and its stream is not reset', async () => {
    const { port } = await bootHttp2()
    const stream = dialHttp2(port).request(asking)
    const heard = readStreamResponse(stream)
    await once(stream, 'response')

    for (let i = 0; i < pieces; i++) if (!stream.write(piece)) await once(stream, 'drain')
    stream.end()

    expect(await heard).toMatchObject({ status: 404, code: 0 })
    expect(stream.writableFinished).toBe(true)
  })

  test('a rejection is on record when it is out, however long its client goes on', async () => {
    const booted = await bootHttp2()
    const stream = dialHttp2(booted.port).request(asking)
    stream.on('error', () => {})
    stream.write(piece)

    const line = await booted.line(({ failure }) => failure === 'not-found')
    stream.close(8) // CANCEL

    expect(line.status).toBe(404)
  })
})
