/** The contract beside what comes before, behind and around a message. */
import { expect, test, vi } from 'vitest'
import { contractFile, sampleContract } from '../../../helpers/contract.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const post = (body: string): string =>
  `POST /valuation/score HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const enforce = { request: 'enforce', response: 'enforce' }

test.each([
  ['keeps the contract', '{"grade":"A"}', 200],
  ['breaks it', '{"grade":"Z"}', 502],
])('a 103 goes ahead of a response that %s', async (_, body, status) => {
  const upstream = await httpUpstream((_request, response) => {
    response.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => {
      response.writeHead(200, ['Content-Type', 'application/json'])
      response.end(body)
    })
  })
  const gateway = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), ...enforce },
    listen: { interim: 'relay' },
  })

  const text = await exchangeRaw(gateway.port, post('{"id":"a"}'))

  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 103', `HTTP/1.1 ${status}`])
})

test('rejected messages are in their trace: a request with no attempt, a response with one', async () => {
  const receiver = await spanReceiver()
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end('{"grade":"Z"}')
  })
  const { port, gateway } = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), ...enforce },
    tracing: { otlp: receiver.url, sample: '100%' },
  })

  await exchangeRaw(port, post('{}'))
  await exchangeRaw(port, post('{"id":"a"}'))
  await gateway.close()

  const servers = receiver.spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes: a }) => [a['error.type'], a['lender_gateway.reason']])).toEqual([
    ['invalid-request', 'contract-body'],
    ['invalid-response', 'contract-answer-body'],
  ])
  expect(receiver.spans.filter(({ kind }) => kind === 'client')).toHaveLength(1)
  expect(JSON.stringify(receiver.spans)).not.toContain('grade')
})

test('trailers of a response end here, and its body is held to the contract', async () => {
  const bodies = ['{"grade":"A"}', '{"grade":"Z"}']
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json', 'Trailer', 'X-Grade'])
    response.addTrailers({ 'X-Grade': 'planted' })
    response.end(bodies.shift())
  })
  const gateway = await bootGateway({ upstream: upstream.url, contract: { file: contractFile(), ...enforce } })

  const texts = [
    await exchangeRaw(gateway.port, post('{"id":"a"}')),
    await exchangeRaw(gateway.port, post('{"id":"a"}')),
  ]

  expect(texts.map(parseStatus)).toEqual([200, 502])
  expect(texts.join()).not.toContain('planted')
})

test('a body of exactly contract.maxBody is checked, one byte more is not', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end('{"grade":"A"}')
  })
  const gateway = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(), ...enforce, maxBody: '1KiB' },
  })
  const broken = (bytes: number): string => `{"id":1${' '.repeat(bytes - 8)}}`

  const statuses = [1024, 1025].map(async (bytes) => parseStatus(await exchangeRaw(gateway.port, post(broken(bytes)))))

  expect(await Promise.all(statuses)).toEqual([400, 200])
})

test('what a revalidation in the background brings is held to the contract before it is stored', async () => {
  const schema = { type: 'object', required: ['grade'] }
  const insights = {
    get: { responses: { 200: { description: 'insights', content: { 'application/json': { schema } } } } },
  }
  const stale = 'max-age=60, stale-while-revalidate=600'
  const answers = [
    ['{"grade":"A"}', stale, '61'],
    ['{"other":"A"}', stale, '61'],
    ['{"grade":"B"}', 'max-age=60', '0'],
  ]
  let at = 0
  const upstream = await httpUpstream((_, response) => {
    const [body, control = '', age = '0'] = answers[Math.min(at++, 2)] ?? []
    response.writeHead(200, ['Content-Type', 'application/json', 'Cache-Control', control, 'Age', age])
    response.end(body)
  })
  const document = { ...sampleContract, paths: { '/market/insights': insights } }
  const gateway = await bootGateway({
    upstream: upstream.url,
    contract: { file: contractFile(document), ...enforce },
    operations: { 'market.insights': { cache: true } },
  })
  const bodies = new Set<string>()

  await vi.waitFor(async () => {
    const { body } = await call(gateway.port)
    bodies.add(body.toString())
    expect(body.toString()).toBe('{"grade":"B"}')
  }, 30_000)

  expect(bodies).toEqual(new Set(['{"grade":"A"}', '{"grade":"B"}']))
})

test('where no field carries request ids, a row of the drift report leads to its line of the log all the same', async () => {
  const live = await bootLiveGateway({
    contract: { file: contractFile(), ...enforce },
    requestId: { header: 'none' },
  })

  await exchangeRaw(live.gateway.address.port, post('{}'))
  const { requestId } = await live.line(({ msg }) => msg === 'exchange')

  const { body } = await fetchAdmin(`${live.admin}/contract`)
  expect(body).toMatchObject({ rows: [{ requestId }] })
})
