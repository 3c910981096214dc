/** Why a request is rejected, and what was meant: one row for each kind of difference. */
import { expect, test } from 'vitest'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import { explainRejection, simulateRequest } from '../../../src/features/explain/rejection.ts'
import { testConfig } from '../../helpers/gateway.ts'

const score = 'valuation.score'
const insights = 'market.insights'
const alias = (written: string, character: string) =>
  `the escape ${written} stands for "${character}", which must not be escaped`
const nearest = 'it is none of the nine paths; the nearest is /market/insights'
const fragment = '"#" stands in it, and a fragment is never sent (RFC 9112 §3.2.1)'
const control = 'a control character stands in it'
const smuggled = ' HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/leads/pipeline'
const blank = 'a blank stands in it, and must be escaped: %20'

const query = (begins: string) => `the query begins with ${begins} is part of the path`

/** The base path of the listener is /v1, and a target has at most 128 bytes. */
const rows: readonly [kind: FailureKind, method: string, target: string, meant: string | null, ...why: string[]][] = [
  ['bad-request', 'get', '/v1/market/insights', insights, 'methods are case-sensitive (RFC 9110 §9.1): get is not GET'],
  ['bad-request', 'BREW', '/v1/market/insights', insights, 'the parser does not know the method'],
  ['method-not-allowed', 'GET', '/v1/valuation/score', score, '/valuation/score takes POST and nothing else, not GET'],
  ['method-not-allowed', 'CONNECT', 'api.example:443', null, 'CONNECT asks for a tunnel, and there is none'],
  ['bad-request', 'OPTIONS', '*', null, '"*" asks about the server as a whole, which is none of the nine'],
  ['not-found', 'POST', '/v1/%76aluation/sc%6Fre', score, alias('%76', 'v'), alias('%6F', 'o')],
  ['not-found', 'POST', '/v1/%2576aluation/score', score, alias('%25', '%'), alias('%76', 'v')],
  ['not-found', 'GET', '/v1/market%2Finsights', insights, alias('%2F', '/')],
  ['not-found', 'GET', '/v1/market/insights%3Fa=b', insights, alias('%3F', '?'), query('an escaped "?": ?a=b')],
  ['not-found', 'GET', '/v1/market/insights&a=b', insights, query('"&" and not with "?": &a=b')],
  ['not-found', 'GET', '/v1/Market/Insights', insights, 'upper case: /Market/Insights is written /market/insights'],
  ['not-found', 'GET', '/v1/market/insights/', insights, 'it ends with a slash'],
  ['not-found', 'GET', '/v1//market/insights', insights, 'a slash is doubled'],
  ['not-found', 'GET', '/v1/leads/../market/insights', insights, 'it contains a dot segment, which is not resolved'],
  ['not-found', 'GET', '/v1/market;v=2/insights', insights, 'a parameter behind ";" is part of the path: ;v=2'],
  ['not-found', 'GET', '/v1/market\\insights', insights, 'a backslash is not a slash'],
  ['not-found', 'POST', '//%761/valuation/score', score, alias('%76', 'v'), 'a slash is doubled'],
  ['not-found', 'POST', '/valuation/score', score, '/v1 is missing in front of it: listen.basePath (it)'],
  ['not-found', 'POST', '/v2/valuation/score', score, 'it begins with /v2 and not with /v1: listen.basePath (it)'],
  ['not-found', 'POST', '/V1/valuation/score', score, '/V1 is written /v1'],
  ['not-found', 'POST', '/v1/v1/valuation/score', score, '/v1 stands between /v1 and the path: listen.basePath (it)'],
  ['not-found', 'GET', '/v1/market/insights/a', insights, '/a follows it, and there is nothing below the nine paths'],
  ['not-found', 'GET', '/v1/market/insight', insights, nearest],
  ['not-found', 'GET', '/v1/health', null, 'it is none of the nine paths'],
  ['not-found', 'GET', '/', null, 'it is none of the nine paths'],
  [
    'uri-too-long',
    'GET',
    `/${'a'.repeat(139)}`,
    null,
    'it has 140 bytes, and at most 128B are read: listen.maxTarget (it)',
  ],
  ['bad-request', 'GET', '/v1/market/insights#top', insights, fragment],
  ['bad-request', 'GET', 'http://a:b@c/v1/market/insights', insights, 'a user name or a password stands in it'],
  ['bad-request', 'GET', 'ftp://a/v1/market/insights', insights, 'ftp:// is not http:// or https://'],
  ['bad-request', 'GET', 'http:///v1/market/insights', insights, 'http:// is not followed by a host'],
  ['misdirected', 'GET', 'http://b/v1/market/insights', insights, 'its host is none of those in listen.hosts (it)'],
  ['bad-request', 'GET', 'v1/market/insights', insights, 'it does not begin with a slash'],
  ['bad-request', 'GET', 'market.insights', insights, 'it does not begin with a slash'],
  ['bad-request', 'GET', '/v1/market insights', insights, blank, nearest],
  ['bad-request', 'GET', '/v1/märket/insights', insights, '"ä" is beyond ASCII, and must be escaped: %C3%A4', nearest],
  ['bad-request', 'GET', '/v1/market/insights\u001b[31m', insights, control, nearest],
  ['bad-request', 'GET', `/v1/market/insights${smuggled}`, insights, blank, control],
]

const { listen: ofFile } = testConfig({ listen: { maxTarget: '128B', hosts: ['a'] } })

const explain = (basePath: string, method: string, target: string) => {
  const listen = { ...ofFile, basePath }
  const simulated = simulateRequest(method, target, listen)
  if (simulated.admitted) throw new Error('it is admitted')
  const { kind, allow } = simulated
  return { kind, allow, ...explainRejection(simulated, method, target, listen, (key) => `${key} (it)`) }
}

test.each(rows)('%s: %s %j', (kind, method, target, meant, ...why) => {
  const explained = explain('/v1', method, target)

  expect([explained.kind, explained.meant?.id ?? null, ...explained.differs]).toEqual([kind, meant, ...why])
})

test('without a base path nothing stands in front of a path', () => {
  const { differs } = explain('', 'POST', '/v1/valuation/score')

  expect(differs).toEqual(['/v1 stands in front of it, and nothing should: listen.basePath (it)'])
})

test.each([
  ['GET', '/v1/valuation/score', 'send POST /v1/valuation/score', 'POST'],
  ['GET', '/', 'send one of the nine', null],
  ['GET', `/${'a'.repeat(128)}`, 'send a shorter one, or raise listen.maxTarget (at most 64KiB)', null],
])('the hint for %s %s is to %s', (method, target, hint, allow) => {
  expect(explain('/v1', method, target)).toMatchObject({ hint, allow })
})
