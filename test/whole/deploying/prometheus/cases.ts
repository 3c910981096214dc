/** What each alert of config/examples/prometheus/alerts.yml fires for, and what it keeps silent for. */

/** Series as promtool has them: their values, minute by minute. */
export type Series = Readonly<Record<string, string>>

export interface Case {
  readonly alert: string
  /** By which minute it fires, and until when it has waited. */
  readonly waits: number | null
  readonly fires: number
  /** What it fires for. */
  readonly bad: Series
  /** What nothing fires for, however long it lasts. */
  readonly good: Series
}

/** A number stays where it is; null: there is none. */
type Values = number | string | null
type Row = readonly [series: string, bad: Values, good: Values]

const alert = (name: string, waits: number | null, fires: number, rows: readonly Row[]): Case => {
  const column = (nth: 1 | 2): Series =>
    Object.fromEntries(
      rows.flatMap((row) => {
        const values = row[nth]
        return values === null ? [] : [[row[0], typeof values === 'number' ? `${values}+0x200` : values]]
      }),
    )
  return { alert: name, waits, fires, bad: column(1), good: column(2) }
}

const gateway = 'job="lender-gateway", instance="a:9901"'
/** Names a series of the gateway. */
export const of = (name: string, labels = ''): string =>
  `lender_gateway_${name}{${gateway}${labels === '' ? '' : `, ${labels}`}}`
const requests = (status: string, failure = 'none', operation = 'market.insights'): string =>
  of('requests_total', `operation="${operation}", status_class="${status}", failure="${failure}"`)
export const endpoint = (url: string, state: string, side = 'primary'): string =>
  of('endpoint_state', `group="risk", side="${side}", endpoint="${url}", state="${state}"`)
export const breaker = (state: string, side = 'primary'): string =>
  of('upstream_breaker_state', `group="risk", side="${side}", state="${state}"`)
const checked = (direction: string, outcome: string): string =>
  of('contract_messages_total', `operation="valuation.score", direction="${direction}", outcome="${outcome}"`)
const took = (le: string): string => of('request_duration_seconds_bucket', `operation="market.insights", le="${le}"`)
const proofs = (result: string, reason: string): string =>
  of('authentications_total', `method="apiKey", result="${result}", reason="${reason}"`)
const eventLoop = (statistic: string): string =>
  of('process_event_loop_delay_seconds', `process="worker-1", statistic="${statistic}"`)
const endpointCertificate = of(
  'endpoint_certificate_not_after_timestamp_seconds',
  'group="risk", side="primary", endpoint="https://risk-a"',
)

/** Grows by so much a minute. */
const by = (step: number): string => `0+${step}x200`
const day = 86_400

export const cases: readonly Case[] = [
  alert('LenderGatewayDown', 0, 2, [
    [`up{${gateway}}`, 0, 1],
    ['up{job="another", instance="b:1"}', null, 0],
  ]),
  // What is gone is looked back on for five minutes.
  alert('LenderGatewayAbsent', 1, 12, [
    [`up{${gateway}}`, '1x2 _x200', 1],
    ['up{job="another", instance="b:1"}', 1, null],
  ]),
  alert('LenderGatewayNotReady', 1, 3, [[of('ready'), 0, 1]]),
  // Drained is what an operator wants.
  alert('LenderGatewayEndpointDown', 1, 3, [
    [endpoint('http://a:1', 'up'), 1, 1],
    [endpoint('http://a:1', 'ejected'), null, 0],
    [endpoint('http://b:1', 'up'), 0, null],
    [endpoint('http://b:1', 'failing'), 1, null],
    [endpoint('http://b:1', 'draining'), null, 1],
    [endpoint('http://b:1', 'down'), null, 0],
  ]),
  alert('LenderGatewayGroupDown', 0, 2, [
    [endpoint('http://a:1', 'up'), 0, 0],
    [endpoint('http://a:1', 'draining'), 1, null],
    [endpoint('http://b:1', 'up'), 0, 1],
    [endpoint('http://next:1', 'up', 'candidate'), 1, 0],
  ]),
  // From open to half-open and back.
  alert('LenderGatewayBreakerOpen', 0, 2, [
    [breaker('closed'), 0, 1],
    [breaker('half-open'), '0 1 0 1 0 1', 0],
    [breaker('open'), '1 0 1 0 1 0', 0],
    [breaker('open', 'candidate'), null, 1],
  ]),
  alert('LenderGatewayCandidateTakenBack', null, 2, [[of('candidate_taken_back', 'group="risk"'), '0 1x10', 0]]),
  // Silent: 4 %, half of them cut short; and few of few; and what only clients have to do with.
  alert('LenderGatewayErrors', 4, 8, [
    [requests('2xx'), by(552), by(5760)],
    [requests('2xx', 'truncated'), by(24), by(1)],
    [requests('5xx', 'connect-failed'), by(24), null],
    [requests('5xx', 'not-cached'), null, by(5760)],
    [requests('5xx', 'none', 'leads.pipeline'), null, by(1)],
    [requests('5xx', 'unsupported-version', 'none'), null, by(600)],
  ]),
  alert('LenderGatewaySlow', 9, 13, [
    [took('2.5'), null, by(599)],
    [took('5'), by(580), by(599.5)],
    [took('10'), by(600), null],
    [took('+Inf'), by(600), by(600)],
  ]),
  // Silent: a peak of four minutes.
  alert('LenderGatewaySaturated', 4, 6, [
    [of('concurrency_in_flight', 'limit="limits.concurrency"'), 9500, '9500x3 100x200'],
    [of('concurrency_limit', 'limit="limits.concurrency"'), 10_000, 10_000],
  ]),
  alert('LenderGatewayShedding', 1, 5, [[of('sheds_total', 'reason="limits-concurrency"'), by(60), by(0)]]),
  alert('LenderGatewayRejectsCredentials', 4, 8, [
    [proofs('rejected', 'unknown-key'), by(120), by(30)],
    [proofs('accepted', 'none'), null, by(60_000)],
  ]),
  alert('LenderGatewayCannotProveClients', 4, 6, [[of('token_source_up', 'source="jwt"'), 0, 1]]),
  alert('LenderGatewayConfigRejected', 9, 11, [[of('config_last_reload_successful'), 0, 1]]),
  // Silent: an operator saves an edit now and then.
  alert('LenderGatewayFileDiffers', 9, 11, [[of('config_file_differs'), 1, '0x8 1x8 0x8 1x8 0x90']]),
  alert('LenderGatewayCertificateExpires', 59, 61, [
    [of('certificate_not_after_timestamp_seconds', 'certificate="admin.tls"'), 13 * day, 15 * day],
  ]),
  alert('LenderGatewayUpstreamCertificateExpires', 59, 61, [[endpointCertificate, 13 * day, 15 * day]]),
  alert('LenderGatewayEventLoopLate', 4, 6, [
    [eventLoop('p99'), 0.2, 0.05],
    [eventLoop('max'), null, 2],
  ]),
  alert('LenderGatewayLogLinesDropped', null, 7, [[of('log_lines_dropped_total'), '0x5 4x5', 400]]),
  alert('LenderGatewayAuditFailing', 0, 2, [[of('audit_failing'), 1, 0]]),
  // Silent: a tenth of a large disk is more than a day's lines; what is filled for a quarter of an hour is no pace.
  alert('LenderGatewayAuditDiskLow', 4, 6, [
    [of('audit_disk_size_bytes'), 20e9, 4e12],
    [of('audit_disk_free_bytes'), 1.9e9, '120e9-2e9x14 92e9+0x200'],
  ]),
  alert('LenderGatewayAuditLinesLost', null, 7, [[of('audit_lines_lost_total'), '0x5 1x5', 1]]),
  alert('LenderGatewaySpansLost', null, 7, [
    [of('spans_total', 'outcome="failed"'), '0x5 512x5', null],
    [of('spans_total', 'outcome="dropped"'), null, 2048],
    [of('spans_total', 'outcome="exported"'), null, by(512)],
  ]),
  alert('LenderGatewayRedisLost', 1, 3, [
    [of('rate_limits_shared'), 1, 1],
    [of('cache_redis_up'), 0, 1],
  ]),
  alert('LenderGatewayKeysNotRemembered', 0, 2, [
    [of('idempotency_store_up'), 1, 1],
    [of('idempotency_entries'), 200_000, 199_999],
    [of('idempotency_limit_entries'), 200_000, 200_000],
  ]),
  // Silent: nine, which their clients ask about.
  alert('LenderGatewayUnknownOutcomes', 3, 6, [
    [of('idempotency_unknown'), 10, 9],
    [of('idempotency_oldest_unknown_seconds'), 60, 900],
  ]),
  // Silent: a client now and then, and bodies that were not read.
  alert('LenderGatewayContractBroken', 2, 12, [
    [checked('response', 'kept'), by(970), null],
    [checked('response', 'broken'), by(30), null],
    [checked('response', 'unchecked'), null, by(100)],
    [checked('request', 'kept'), null, by(1000)],
    [checked('request', 'rejected'), null, by(5)],
  ]),
  alert('LenderGatewayWorkerRestarts', null, 7, [[of('worker_restarts_total', 'worker="1"'), '0x5 1x5', 3]]),
  // Half of them cut short.
  alert('LenderGatewayErrorBudgetFast', 1, 20, [
    [requests('2xx'), by(980), by(9980)],
    [requests('5xx'), by(10), by(4)],
    [requests('2xx', 'truncated'), by(10), null],
    [requests('5xx', 'not-cached'), null, by(600)],
  ]),
  alert('LenderGatewayErrorBudgetSlow', 14, 30, [
    [requests('2xx'), by(992), by(995)],
    [requests('5xx'), by(8), by(5)],
  ]),
]
