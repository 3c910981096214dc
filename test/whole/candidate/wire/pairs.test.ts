/** A candidate's share beside what else the gateway does for a request. */
import { expect, onTestFinished, test } from 'vitest'
import { total } from '../../../core/admin/metrics/parse-exposition.ts'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { ask, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, fieldValues } from '../../../helpers/wire.ts'

const expose = 'X-Upstream-Side'

test('the field that names the side is the gateway’s alone: what an upstream says there, also in a 103, is removed', async () => {
  const forging = await rawUpstream((socket) =>
    onRequest(socket, () =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nx-upstream-SIDE: forged\r\n\r\n' +
          'HTTP/1.1 200 OK\r\nX-Upstream-Side: forged\r\nX-UPSTREAM-SIDE: twice\r\nContent-Length: 2\r\n\r\nok',
      ),
    ),
  )
  const { port } = await bootGateway({
    ...withCandidate(forging.url, forging.url, { share: '100%', expose }),
    listen: { interim: 'relay' },
  })

  const { fields, interim } = await call(port)

  expect(fieldValues(fields, expose)).toEqual(['candidate'])
  expect(interim.map(({ status, fields: early }) => [status, fieldValues(early, expose)])).toEqual([[103, []]])
})

test('an idempotency key holds on both sides: a client that has changed sides gets its first response', async () => {
  const { primary, candidate } = await sideUpstreams()
  const settings = (own: object) => ({
    ...withCandidate(primary.url, candidate.url, own, {}, 'financing'),
    ...keyedClients('bank-a'),
    operations: { 'financing.pre-approval': { idempotency: true } },
  })
  const live = await bootLiveGateway(settings({ clients: ['bank-a'] }))
  const request = { method: 'POST', target: '/financing/pre-approval', body: Buffer.from('{}') }
  const post = (key: string) =>
    ask(live.gateway.address.port, { ...request, fields: ['Idempotency-Key', key, ...keyOf('bank-a')] })
  const there = await post('k-1')
  live.edit(settings({ share: '0%' }))
  expect((await live.gateway.reload('request')).result).toBe('applied')

  const responses = [await post('k-1'), await post('k-2')]

  expect([there, ...responses]).toEqual(['200 candidate', '200 candidate', '200 primary'])
  expect([primary.requests.length, candidate.requests.length]).toEqual([1, 1])
})

test('the access log, the audit log, spans and metrics have the side, and whether the request fell back', async () => {
  const { primary, candidate } = await sideUpstreams()
  const [audit, receiver] = [createAuditLog(onTestFinished), await spanReceiver()]
  const live = await bootLiveGateway({
    ...withCandidate(primary.url, candidate.url, { clients: ['bank-a', 'bank-c'] }),
    ...keyedClients('bank-a', 'bank-b', 'bank-c'),
    audit: audit.settings,
    tracing: { otlp: receiver.url, sample: '100%' },
    metrics: {},
  })
  const { port } = live.gateway.address
  await ask(port, { fields: keyOf('bank-a') })
  await ask(port, { fields: keyOf('bank-b') })
  await candidate.close()
  await ask(port, { fields: keyOf('bank-c') })
  await eventually(() => audit.lines().filter(({ event }) => event === 'exchange').length === 3)
  const metrics = await (await fetch(`${live.admin}/metrics`)).text()
  await live.gateway.close()

  const told = ['candidate', 'primary', 'candidate fell back: true']
  const columns = ({ side, fellBack }: Readonly<Record<string, unknown>>) =>
    `${side}${fellBack === undefined ? '' : ` fell back: ${fellBack}`}`
  const audited = audit.lines().filter(({ event }) => event === 'exchange')
  type Span = (typeof receiver.spans)[number]
  const spans = receiver.spans.filter(({ kind }) => kind === 'server').sort((a, b) => a.startMs - b.startMs)
  expect(live.lines.filter(({ msg }) => msg === 'exchange').map(columns)).toEqual(told)
  expect(audited.map(columns)).toEqual(told)
  const ofSpan = ({ attributes: { 'lender_gateway.side': side, 'lender_gateway.fell_back': fellBack } }: Span) =>
    columns({ side, fellBack: fellBack || undefined })
  expect(spans.map(ofSpan)).toEqual(told)
  const count = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    total(metrics, `lender_gateway_${name}`, { operation: 'market.insights', ...labels })
  const bySide = ['candidate', 'primary'].map((side) => count('side_requests_total', { side }))
  expect([...bySide, count('candidate_fallbacks_total')]).toEqual([2, 1, 1])
})

test('a limit counts both sides together, so a client gains nothing by its side', async () => {
  const { primary, candidate } = await sideUpstreams()
  const settings = (share: string) => ({
    ...withCandidate(primary.url, candidate.url, { share }),
    limits: { address: { rate: '1/min', burst: 3 } },
  })
  const live = await bootLiveGateway(settings('0%'))
  const { port } = live.gateway.address
  const before = [await ask(port), await ask(port)]
  live.edit(settings('100%'))
  await live.gateway.reload('request')

  const after = [await ask(port), await ask(port)]

  expect([...before, ...after]).toEqual(['200 primary', '200 primary', '200 candidate', '429 rate-limited'])
})
