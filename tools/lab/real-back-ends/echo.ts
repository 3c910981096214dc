/** Responds to a GET with so many bytes, and a POST with what arrived: `node echo.ts PORT IDLE_SECONDS`. */
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'

const [, , port, idleSeconds] = process.argv
const pattern = Buffer.from(Uint8Array.from({ length: 1 << 20 }, (_, i) => i * 31 + (i >> 8)))

createServer({ keepAliveTimeout: Number(idleSeconds) * 1000, keepAliveTimeoutBuffer: 0 }, (request, response) => {
  const hash = createHash('sha256')
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    hash.update(chunk)
  })
  request.on('end', () => {
    const { method, url = '', headers } = request
    if (method === 'POST') return response.end(`POST ${url} ${length} ${hash.digest('hex')} ${headers['x-probe']}`)
    response.setHeader('Content-Type', 'application/octet-stream') // or proxies guess at it, by what comes first
    const asked = new URL(url, 'http://echo').searchParams
    if (asked.has('plain')) response.flushHeaders()
    return response.end(pattern.subarray(0, Number(asked.get('bytes'))))
  })
}).listen(Number(port), '127.0.0.1')
