/** A connection at each bound of its memory: the process holds less than the table of bounds says. */
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { boundMemory, maxWrites } from '../../../src/core/downstream/http2/connection-memory.ts'
import { claimMemory, reserveMemory } from '../../../src/core/downstream/http2/frame-memory.ts'
import { HpackEncoder } from '../../../src/core/downstream/http2/hpack/encoder.ts'
import { Http2Connection } from '../../../src/core/downstream/http2/http2-connection.ts'
import { WideConnections } from '../../../src/core/downstream/http2/wide-connections.ts'
import { Http2Request } from '../../../src/features/http2/http2-request.ts'
import { Http2Response } from '../../../src/features/http2/http2-response.ts'
import { heldBytes } from '../../helpers/collect-garbage.ts'
import { block, frame, get, head } from '../../helpers/http2.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const options = { maxConcurrentStreams: 100, maxListSize: 48 * 1024 }
const bounds = boundMemory(options)
const streams = Array.from({ length: options.maxConcurrentStreams }, (_, n) => 2 * n + 1)

/** Opens a connection whose writes the system never takes. */
const openUnwrittenConnection = () => {
  const socket = Object.assign(new EventEmitter(), {
    ...{ destroyed: false, isFull: false, writes: 0, end() {}, destroy() {} },
    write() {
      this.writes++
      return !this.isFull
    },
  })
  const responses: Http2Response[] = []
  const connection = new Http2Connection(socket as unknown as Socket, {
    ...options,
    wideConnections: new WideConnections(),
    onStream: (stream) =>
      void responses.push(new Http2Response(connection, stream, new Http2Request(connection, stream))),
    ...{ onStreamClosed() {}, onMalformed() {} },
    onFailure(error) {
      throw error
    },
  })
  /** Each in a packet of its own. */
  const receive = (...packets: readonly Buffer[]): void => {
    for (const packet of packets) socket.emit('data', Buffer.from(Uint8Array.from(packet).buffer))
  }
  receive(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0))
  return { socket, responses, receive }
}

type Opened = ReturnType<typeof openUnwrittenConnection>

const manyFields = Array.from({ length: 1250 }, (_, n) => ['x-a', `${n}`]).flat()
const ping = frame(6, 0, 0, Buffer.alloc(8))
const openUploads = ({ receive, responses }: Opened, ...fields: string[]): void => {
  if (responses.length > 0) return
  for (const id of streams) receive(head(id, [...get('/', 'POST'), ...fields], false))
}
/** Takes the memory that other connections would take between two allocations. */
const others = (): void => {
  for (let n = 0; n < 5; n++) {
    Buffer.allocUnsafe(16_000)
    claimMemory(reserveMemory(16_000), 16_000)
  }
}

const holds = {
  objects() {},
  frame: ({ receive }: Opened) => receive(frame(2, 0, 1, Buffer.alloc(16_384)).subarray(0, 16_000)),
  fieldBlock({ receive }: Opened) {
    receive(frame(1, 0, 1, Buffer.alloc(16_384)))
    for (let n = 0; n < 2; n++) receive(frame(9, 0, 1, Buffer.alloc(16_384)))
  },
  tables({ receive }: Opened) {
    const indexed = Array.from({ length: 120 }, (_, n) => Buffer.from([0x40, 1, 0x61, 1, 0x21 + (n % 90)]))
    receive(frame(1, 5, 1, Buffer.concat([block(...get()), ...indexed])))
  },
  async closedStreams({ socket, receive, responses }: Opened) {
    socket.isFull = true
    receive(ping)
    await setImmediate()
    vi.advanceTimersByTime(20_000)
    for (let id = 1; id < 400; id += 2) {
      receive(head(id, [...get(), 'x-a', 'a'.repeat(2000)]))
      responses.pop()?.writeFields(200, '', [])
      receive(frame(3, 0, id, Buffer.from([0, 0, 0, 8])))
    }
  },
  async controls({ socket, receive }: Opened) {
    socket.isFull = true
    receive(ping)
    await setImmediate()
    for (let n = 0; n < 950; n++) {
      vi.advanceTimersByTime(31)
      receive(ping)
    }
  },
  async writes({ socket, responses, receive }: Opened) {
    for (const id of streams) receive(head(id))
    for (let n = 0; n < 2 * maxWrites; n++) {
      receive(ping)
      // Far less goes out: the value is in the table of HPACK.
      for (const response of responses) response.writeInterim(103, ['x-a', 'a'.repeat(900)])
      await setImmediate()
      others()
    }
    expect(socket.writes).toBe(maxWrites)
  },
  requestHeads: (opened: Opened) => openUploads(opened, ...manyFields),
  async respondedHeads({ receive, responses }: Opened) {
    for (let id = 1; id < 800; id += 2) {
      receive(head(id, [...get(), ...manyFields]))
      responses.at(-1)?.writeFields(204, '', [])
      if (id % 200 === 197) await setImmediate()
    }
    for (let id = 1; id < 800; id += 2) {
      vi.advanceTimersByTime(50)
      receive(frame(3, 0, id, Buffer.from([0, 0, 0, 8])))
    }
    responses.length = 0
  },
  requestBodies(opened: Opened) {
    openUploads(opened)
    for (let n = 0; n < 16; n++)
      for (const id of streams) {
        vi.advanceTimersByTime(1)
        opened.receive(Buffer.concat([frame(0, 0, id, Buffer.alloc(4095)), frame(0x77, 0, 0, Buffer.alloc(4000))]))
      }
  },
  async responseHeads(opened: Opened) {
    await stall(opened)
    for (const response of opened.responses) {
      response.writeInterim(103, ['x-a', 'a'.repeat(60_000)])
      response.writeFields(200, '', ['x-a', `${Math.random()}`.repeat(3000)])
    }
  },
  async responseBodies(opened: Opened) {
    await stall(opened)
    for (const response of opened.responses) {
      while (response.write(Buffer.allocUnsafe(1))) others()
      response.write(Buffer.alloc(256 * 1024))
    }
  },
}

const stall = async (opened: Opened): Promise<void> => {
  opened.socket.isFull = true
  openUploads(opened)
  await setImmediate()
}

const holding = async (count: number, ...parts: readonly (keyof typeof holds)[]): Promise<number> => {
  const before = await heldBytes()
  const opened = Array.from({ length: count }, openUnwrittenConnection)
  for (const each of opened) for (const part of parts) await holds[part](each)
  const held = (await heldBytes()) - before
  return held / opened.length
}

test.each(Object.keys(holds) as (keyof typeof holds)[])('the memory of %s stays within its bound', async (part) => {
  const bound = bounds[part]
  const count = Math.max(1, Math.min(100, Math.round(3_000_000 / bound)))

  const held = await holding(count, part)

  expect(held).toBeLessThan(bound + bounds.objects)
  expect(held).toBeGreaterThan(bound / 16)
})

test('all parts together stay within the total bound', async () => {
  const grow = ['requestHeads', 'requestBodies', 'responseHeads', 'responseBodies', 'controls', 'fieldBlock'] as const

  const held = await holding(1, ...grow, 'frame')

  expect(held).toBeLessThan(bounds.total)
  expect(held).toBeGreaterThan(bounds.total / 2)
})

test('the table of responses keeps no head that its values were cut from', async () => {
  const encoder = new HpackEncoder()
  const before = await heldBytes()

  for (let n = 0; n < 60; n++) {
    const head = Buffer.alloc(20_000, 'a').toString('latin1')
    encoder.encode(Buffer.alloc(100), 0, '200', ['date', head.slice(0, 20 + (n % 10))])
  }

  expect((await heldBytes()) - before).toBeLessThan(30 * 20_000)
  encoder.limitTable(0) // it is in use until here
})
