/** What is looked for where no secret may be, and a bug that would let one out. */

/** Lists how a secret may look where it comes out. */
export const secretEncodings = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).join(','), // as JSON has a Buffer
]

/**
 * Writes a module that makes the process throw an uncaught error at SIGPIPE. What a bug of a library's may leave in an
 * uncaught error: Node's own errors carry the bytes that they are about.
 */
export const crashOnSignal = (secret: string): string => `process.on('SIGPIPE', () => {
  const bytes = Buffer.from('${secret}')
  throw Object.assign(new Error('crash'), { rawPacket: bytes, request: { headers: ['Authorization', '${secret}'] } })
})`
