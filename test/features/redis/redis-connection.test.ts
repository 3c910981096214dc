import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls, { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { RedisClient } from '@redis/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import type { RedisTls } from '../../../src/features/redis/redis-settings.ts'
import { makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { startRedis } from '../../helpers/redis.ts'
import { switchVerificationOff } from '../../helpers/unverified-tls.ts'
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

const [server, openssl] = [await needProgram('redis-server'), await needProgram('openssl')]

describe.skipIf(server.missing ?? openssl.missing)('over TLS', () => {
  /** Starts a Redis that is reached over TLS alone. */
  const start = async (...options: readonly string[]) => {
    const made = makeCertificates(openssl.path ?? '')
    const folder = mkdtempSync(join(tmpdir(), 'redis-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const files = { ca: made.authority.cert, cert: made.right.cert, key: made.right.key }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const tls = Object.keys(files).flatMap((name) => [`--tls-${name}-file`, join(folder, name)])
    const own = tls.map((option) => option.replace('--tls-ca-file', '--tls-ca-cert-file'))
    const redis = await startRedis(server.path ?? '', ['--port', '0', '--tls-port', '{port}', ...own, ...options])
    onTestFinished(() => redis.kill())
    const connect = async (settings: RedisTls | null) => {
      const url = `rediss://localhost:${redis.port}`
      const connection = await connectRedis(redisSettings({ url, tls: settings }), 30_000)(() => {})
      onTestFinished(() => connection.destroy())
      return connection
    }
    return { made, connect }
  }

  test('a server whose certificate does not verify is rejected, whatever the environment says of that', async () => {
    const { made, connect } = await start('--tls-auth-clients', 'no')
    switchVerificationOff()

    await expect(connect(null)).rejects.toThrow('certificate')
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, made.authority.cert])
    onTestFinished(() => setDefaultCACertificates(before))

    expect(await (await connect(null)).consume('key', 1, 2)).toBe(1)
  })

  test('the configuration may have an authority of its own and a certificate of the gateway', async () => {
    const { made, connect } = await start()
    const [ca, shown] = [made.authority.cert, { certificate: made.client.cert, key: made.client.key }]

    expect(await (await connect({ ca, ...shown })).consume('key', 1, 2)).toBe(1)

    await expect(connect(null)).rejects.toThrow('certificate')
    await expect(connect({ ca: made.selfSigned.cert, ...shown })).rejects.toThrow('certificate')
    await expect(connect({ ca, certificate: null, key: null })).rejects.toThrow()
  })
})

// A file of authorities takes milliseconds to read: with 20 Sentinels down, that took two thirds of a core.
test('servers that are tried again and again cost one reading of the authorities', async () => {
  const readsAuthorities = vi.spyOn(tls, 'createSecureContext')
  syncBuiltinESMExports()
  onTestFinished(() => {
    readsAuthorities.mockRestore()
    syncBuiltinESMExports()
  })
  const own: RedisTls = { ca: getCACertificates('bundled')[0] ?? '', certificate: null, key: null }
  const connect = connectRedis(redisSettings({ sentinels: ['127.0.0.1:1', '127.0.0.1:2'], name: 'main', tls: own }))

  for (let tries = 0; tries < 2; tries++) await expect(connect(() => {})).rejects.toThrow('ECONNREFUSED')

  expect(readsAuthorities).toHaveBeenCalledTimes(1)
})
