// Responds to every request with what it was asked for.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  let bytes = 0
  request.on('data', (chunk) => {
    bytes += chunk.length
  })
  request.on('end', () => {
    response.setHeader('Content-Type', 'application/json')
    response.end(`${JSON.stringify({ method: request.method, path: request.url, bytes })}\n`)
  })
})
// Longer than the gateways keep a connection, so that they end it.
server.keepAliveTimeout = 120_000
server.listen(process.env.PORT ?? 8080, () => console.log(`listening on ${server.address().port}`))
process.on('SIGTERM', () => process.exit(0))
