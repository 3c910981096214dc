import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { bootHttp2, dialHttp2, frame, get, head, missing, readStreamResponse } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, runAttack } from '../../../helpers/http2-attack.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { pseudoRandomBytes, sha256 } from '../../../helpers/wire.ts'

const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)
const byte = Buffer.concat(streams.map((stream) => frame(0, 0, stream, Buffer.from('a'))))

// The attack: bodies that are read whole before they are sent on, a byte a frame, on as many streams as there may be. A
// byte costs the client ten; kept as it came, it would cost the gateway more than two hundred.
test.skipIf(missing !== null)('bodies of a byte a frame fill no memory', async () => {
  const { attacker, statuses, grownBytes } = await runAttack(async (attacker) => {
    const fields = [...get('/valuation/score', 'POST'), 'content-length', '65536']
    await attacker.send(...streams.map((stream) => head(stream, fields, false)))
    await flood(attacker, 600, () => Array.from({ length: 10 }, () => byte))
    await attacker.send(frame(6, 0, 0, Buffer.alloc(8)))
    await attacker.frame(({ type }) => type === 6) // all of it has been read
  })

  expect(attacker.socket.destroyed).toBe(false)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

// What waits is gathered: each byte is still where it was.
test.skipIf(missing !== null)('a body that waits for its upstream again and again arrives as it was sent', async () => {
  const body = pseudoRandomBytes(1024 * 1024)
  const upstream = await httpUpstream()
  const narrow = await narrowTo(upstream.port)
  const { port } = await bootHttp2({ upstream: narrow.url })
  const stream = dialHttp2(port).request({ ':path': '/risk/asset-valuation', ':method': 'POST' }, { endStream: false })
  const response = readStreamResponse(stream)

  for (let at = 0; at < body.length; at += 700) stream.write(body.subarray(at, at + 700))
  stream.end()

  expect(await response).toMatchObject({ status: 200 })
  expect(upstream.requests.map(({ sha256 }) => sha256)).toEqual([sha256(body)])
})

/** Opens a way to an upstream that takes little at a time. */
const narrowTo = (behind: number) =>
  rawUpstream((socket) => {
    const out = connect(behind, '127.0.0.1')
    out.on('error', () => {}).pipe(socket)
    socket.on('data', (chunk: Buffer) => {
      socket.pause()
      out.write(chunk, () => setImmediate(() => socket.resume()))
    })
    socket.on('close', () => out.destroy())
  })
