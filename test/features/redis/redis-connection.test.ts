import type { Socket } from 'node:net'
import { RedisClient } from '@redis/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import { rawUpstream } from '../../helpers/upstream.ts'
import { redisSettings } from './redis-settings.ts'

type Replies = (socket: Socket) => void

/** Replies to the first command as Redis does, and to all that follow with this. */
const replyThen =
  (reply: string): Replies =>
  (socket) => {
    socket.once('data', () => {
      socket.write(`$40\r\n${'a'.repeat(40)}\r\n`)
      socket.on('data', () => void socket.write(reply, 'latin1'))
    })
  }

const half: Replies = (socket) => {
  replyThen('$5\r\n1')(socket)
  socket.once('data', () => socket.once('data', () => socket.end()))
}

const rows: readonly (readonly [what: string, login: string, replies: Replies])[] = [
  ['nothing', '', () => {}],
  ['nothing, to a password', ':secret@', () => {}],
  ['with the end of the connection', '', (socket) => void socket.destroy()],
  ['what is HTTP', '', (socket) => void socket.on('data', () => void socket.write('HTTP/1.1 400 Bad\r\n\r\n'))],
  ['what is no protocol', '', replyThen('\0\x01\x02\xff')],
  ['more often than it was asked', '', replyThen('+OK\r\n'.repeat(20))],
  ['a list', '', replyThen('*1\r\n$1\r\n5\r\n')],
  ['no value', '', replyThen('$-1\r\n')],
  ['half of it, then ends', '', half],
  ...['0', '', 'inf', '1e999', '1e300', '-1000001', 'one'].map(
    (text) => [`the number "${text}"`, '', replyThen(`$${text.length}\r\n${text}\r\n`)] as const,
  ),
]

test.each(rows)('a server that replies %s has counted nothing', async (_, login, replies) => {
  const server = await rawUpstream(replies)
  let destroy = (): void => {}
  onTestFinished(() => destroy())

  const connection = connectRedis(redisSettings({ url: `redis://${login}127.0.0.1:${server.port}` }))(() => destroy())
  const consumed = connection.then((made) => {
    destroy = () => made.destroy()
    return made.consume('key', 1, 5)
  })

  await expect(consumed).rejects.toThrow()
})

// Each has some 400 commands: with two servers that are away, and are tried again all the time, that took half a core.
test('servers that are tried by turns cost no class of commands each', async () => {
  const makesClass = vi.spyOn(RedisClient, 'factory')
  onTestFinished(() => makesClass.mockRestore())

  for (const password of ['one', 'two', 'one']) {
    const connection = connectRedis(redisSettings({ url: `redis://:${password}@127.0.0.1:1` }))(() => {})
    await expect(connection).rejects.toThrow('ECONNREFUSED')
  }

  expect(makesClass).not.toHaveBeenCalled()
})
