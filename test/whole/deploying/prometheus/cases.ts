/** What each alert of config/examples/prometheus/alerts.yml fires for, and what it keeps silent for. */

/** Series as promtool has them: their values, minute by minute. */
type Series = Readonly<Record<string, string>>

export interface Case {
  readonly alert: string
  /** What it fires for. */
  readonly bad: Series
  /** By which minute it does, and until when it has waited. */
  readonly fires: number
  readonly waits: number | null
  /** What nothing fires for, however long it lasts. */
  readonly good: Series
}

const gateway = 'job="lender-gateway", instance="a:9901"'
const of = (name: string, labels = ''): string =>
  `lender_gateway_${name}{${gateway}${labels === '' ? '' : `, ${labels}`}}`
const requests = (operation: string, status: string, failure = 'none'): string =>
  of('requests_total', `operation="${operation}", status_class="${status}", failure="${failure}"`)
const endpoint = (url: string, state: string, side = 'primary'): string =>
  of('endpoint_state', `group="risk", side="${side}", endpoint="${url}", state="${state}"`)
const breaker = (state: string, side = 'primary'): string =>
  of('upstream_breaker_state', `group="risk", side="${side}", state="${state}"`)
const checked = (direction: string, outcome: string): string =>
  of('contract_messages_total', `operation="valuation.score", direction="${direction}", outcome="${outcome}"`)
const took = (le: string): string => of('request_duration_seconds_bucket', `operation="market.insights", le="${le}"`)

/** Stays where it is. */
const at = (value: number | string): string => `${value}+0x200`
/** Grows by so much a minute. */
const by = (step: number): string => `0+${step}x200`

export const cases: readonly Case[] = [
  {
    alert: 'LenderGatewayDown',
    bad: { [`up{${gateway}}`]: at(0) },
    waits: 0,
    fires: 2,
    good: { [`up{${gateway}}`]: at(1), 'up{job="another", instance="b:1"}': at(0) },
  },
  {
    alert: 'LenderGatewayAbsent',
    bad: { [`up{${gateway}}`]: '1x2 _x200', 'up{job="another", instance="b:1"}': at(1) },
    waits: 1,
    fires: 12, // what is gone is looked back on for five minutes
    good: { [`up{${gateway}}`]: at(1) },
  },
  {
    alert: 'LenderGatewayNotReady',
    bad: { [of('ready')]: at(0) },
    waits: 1,
    fires: 3,
    good: { [of('ready')]: at(1) },
  },
  {
    alert: 'LenderGatewayEndpointDown',
    bad: {
      [endpoint('http://a:1', 'up')]: at(1),
      [endpoint('http://b:1', 'up')]: at(0),
      [endpoint('http://b:1', 'failing')]: at(1),
    },
    waits: 1,
    fires: 3,
    // Drained is what an operator wants.
    good: {
      [endpoint('http://a:1', 'up')]: at(1),
      [endpoint('http://a:1', 'ejected')]: at(0),
      [endpoint('http://b:1', 'draining')]: at(1),
      [endpoint('http://b:1', 'down')]: at(0),
    },
  },
  {
    alert: 'LenderGatewayGroupDown',
    bad: {
      [endpoint('http://a:1', 'up')]: at(0),
      [endpoint('http://a:1', 'draining')]: at(1),
      [endpoint('http://b:1', 'up')]: at(0),
      [endpoint('http://next:1', 'up', 'candidate')]: at(1),
    },
    waits: 0,
    fires: 2,
    good: {
      [endpoint('http://a:1', 'up')]: at(0),
      [endpoint('http://b:1', 'up')]: at(1),
      [endpoint('http://next:1', 'up', 'candidate')]: at(0),
    },
  },
  {
    alert: 'LenderGatewayBreakerOpen',
    // From open to half-open and back.
    bad: { [breaker('closed')]: at(0), [breaker('half-open')]: '0 1 0 1 0 1', [breaker('open')]: '1 0 1 0 1 0' },
    waits: 0,
    fires: 2,
    good: {
      [breaker('closed')]: at(1),
      [breaker('half-open')]: at(0),
      [breaker('open')]: at(0),
      [breaker('open', 'candidate')]: at(1),
    },
  },
  {
    alert: 'LenderGatewayCandidateTakenBack',
    bad: { [of('candidate_taken_back', 'group="risk"')]: '0 1x10' },
    waits: null,
    fires: 2,
    good: { [of('candidate_taken_back', 'group="risk"')]: at(0) },
  },
  {
    alert: 'LenderGatewayErrors',
    bad: {
      [requests('market.insights', '2xx')]: by(552),
      [requests('market.insights', '2xx', 'truncated')]: by(24),
      [requests('market.insights', '5xx', 'connect-failed')]: by(24),
    },
    waits: 4,
    fires: 8,
    // 4 %, half of them cut short; and few of few; and what only clients have to do with.
    good: {
      [requests('market.insights', '2xx')]: by(5760),
      [requests('market.insights', '5xx', 'not-cached')]: by(5760),
      [requests('market.insights', '2xx', 'truncated')]: by(1),
      [requests('leads.pipeline', '5xx')]: by(1),
      [requests('none', '5xx', 'unsupported-version')]: by(600),
    },
  },
  {
    alert: 'LenderGatewaySlow',
    bad: { [took('5')]: by(580), [took('10')]: by(600), [took('+Inf')]: by(600) },
    waits: 9,
    fires: 13,
    good: { [took('2.5')]: by(599), [took('5')]: by(599.5), [took('+Inf')]: by(600) },
  },
  {
    alert: 'LenderGatewaySaturated',
    bad: {
      [of('concurrency_in_flight', 'limit="limits.concurrency"')]: at(9500),
      [of('concurrency_limit', 'limit="limits.concurrency"')]: at(10_000),
    },
    waits: 4,
    fires: 6,
    // A peak of four minutes.
    good: {
      [of('concurrency_in_flight', 'limit="limits.concurrency"')]: '9500x3 100x200',
      [of('concurrency_limit', 'limit="limits.concurrency"')]: at(10_000),
    },
  },
  {
    alert: 'LenderGatewayShedding',
    bad: { [of('sheds_total', 'reason="limits-concurrency"')]: by(60) },
    waits: 1,
    fires: 5,
    good: { [of('sheds_total', 'reason="limits-concurrency"')]: by(0) },
  },
  {
    alert: 'LenderGatewayRefusesCredentials',
    bad: { [of('authentications_total', 'method="apiKey", result="refused", reason="unknown-key"')]: by(120) },
    waits: 4,
    fires: 8,
    good: {
      [of('authentications_total', 'method="apiKey", result="refused", reason="unknown-key"')]: by(30),
      [of('authentications_total', 'method="apiKey", result="accepted", reason="none"')]: by(60_000),
    },
  },
  {
    alert: 'LenderGatewayCannotProveClients',
    bad: { [of('token_source_up', 'source="jwt"')]: at(0) },
    waits: 4,
    fires: 6,
    good: { [of('token_source_up', 'source="jwt"')]: at(1) },
  },
  {
    alert: 'LenderGatewayConfigRefused',
    bad: { [of('config_last_reload_successful')]: at(0) },
    waits: 9,
    fires: 11,
    good: { [of('config_last_reload_successful')]: at(1) },
  },
  {
    alert: 'LenderGatewayFileDiffers',
    bad: { [of('config_file_differs')]: at(1) },
    waits: 9,
    fires: 11,
    // An operator saves an edit now and then.
    good: { [of('config_file_differs')]: '0x8 1x8 0x8 1x8 0x90' },
  },
  {
    alert: 'LenderGatewayCertificateExpires',
    bad: { [of('certificate_not_after_timestamp_seconds', 'certificate="admin.tls"')]: at(13 * 86_400) },
    waits: 59,
    fires: 61,
    good: { [of('certificate_not_after_timestamp_seconds', 'certificate="admin.tls"')]: at(15 * 86_400) },
  },
  {
    alert: 'LenderGatewayUpstreamCertificateExpires',
    bad: {
      [of(
        'endpoint_certificate_not_after_timestamp_seconds',
        'group="risk", side="primary", endpoint="https://risk-a"',
      )]: at(13 * 86_400),
    },
    waits: 59,
    fires: 61,
    good: {
      [of(
        'endpoint_certificate_not_after_timestamp_seconds',
        'group="risk", side="primary", endpoint="https://risk-a"',
      )]: at(15 * 86_400),
    },
  },
  {
    alert: 'LenderGatewayEventLoopLate',
    bad: { [of('process_event_loop_delay_seconds', 'process="worker-1", statistic="p99"')]: at(0.2) },
    waits: 4,
    fires: 6,
    good: {
      [of('process_event_loop_delay_seconds', 'process="worker-1", statistic="p99"')]: at(0.05),
      [of('process_event_loop_delay_seconds', 'process="worker-1", statistic="max"')]: at(2),
    },
  },
  {
    alert: 'LenderGatewayLogLinesDropped',
    bad: { [of('log_lines_dropped_total')]: '0x5 4x5' },
    waits: null,
    fires: 7,
    good: { [of('log_lines_dropped_total')]: at(400) },
  },
  {
    alert: 'LenderGatewayAuditFailing',
    bad: { [of('audit_failing')]: at(1) },
    waits: 0,
    fires: 2,
    good: { [of('audit_failing')]: at(0) },
  },
  {
    alert: 'LenderGatewayAuditDiskLow',
    bad: { [of('audit_disk_size_bytes')]: at(20e9), [of('audit_disk_free_bytes')]: at(1.9e9) },
    waits: 4,
    fires: 6,
    // A tenth of a large disk is more than a day's lines; and what is filled for a quarter of an hour is no pace.
    good: {
      [of('audit_disk_size_bytes')]: at(4e12),
      [of('audit_disk_free_bytes')]: '120e9-2e9x14 92e9+0x200',
    },
  },
  {
    alert: 'LenderGatewayAuditLinesLost',
    bad: { [of('audit_lines_lost_total')]: '0x5 1x5' },
    waits: null,
    fires: 7,
    good: { [of('audit_lines_lost_total')]: at(1) },
  },
  {
    alert: 'LenderGatewaySpansLost',
    bad: { [of('spans_total', 'outcome="failed"')]: '0x5 512x5' },
    waits: null,
    fires: 7,
    good: { [of('spans_total', 'outcome="dropped"')]: at(2048), [of('spans_total', 'outcome="exported"')]: by(512) },
  },
  {
    alert: 'LenderGatewayRedisLost',
    bad: { [of('rate_limits_shared')]: at(1), [of('cache_redis_up')]: at(0) },
    waits: 1,
    fires: 3,
    good: { [of('rate_limits_shared')]: at(1), [of('cache_redis_up')]: at(1) },
  },
  {
    alert: 'LenderGatewayKeysNotRemembered',
    bad: {
      [of('idempotency_store_up')]: at(1),
      [of('idempotency_entries')]: at(200_000),
      [of('idempotency_limit_entries')]: at(200_000),
    },
    waits: 0,
    fires: 2,
    good: {
      [of('idempotency_store_up')]: at(1),
      [of('idempotency_entries')]: at(199_999),
      [of('idempotency_limit_entries')]: at(200_000),
    },
  },
  {
    alert: 'LenderGatewayUnknownOutcomes',
    bad: { [of('idempotency_unknown')]: at(10), [of('idempotency_oldest_unknown_seconds')]: at(60) },
    waits: 3,
    fires: 6,
    // Nine, which their clients ask about.
    good: { [of('idempotency_unknown')]: at(9), [of('idempotency_oldest_unknown_seconds')]: at(900) },
  },
  {
    alert: 'LenderGatewayContractBroken',
    bad: { [checked('response', 'kept')]: by(970), [checked('response', 'broken')]: by(30) },
    waits: 2,
    fires: 12,
    // A client now and then, and bodies that were not read.
    good: {
      [checked('request', 'kept')]: by(1000),
      [checked('request', 'rejected')]: by(5),
      [checked('response', 'unchecked')]: by(100),
    },
  },
  {
    alert: 'LenderGatewayWorkerRestarts',
    bad: { [of('worker_restarts_total', 'worker="1"')]: '0x5 1x5' },
    waits: null,
    fires: 7,
    good: { [of('worker_restarts_total', 'worker="1"')]: at(3) },
  },
  {
    alert: 'LenderGatewayErrorBudgetFast',
    // Half of them cut short.
    bad: {
      [requests('market.insights', '2xx')]: by(980),
      [requests('market.insights', '5xx')]: by(10),
      [requests('market.insights', '2xx', 'truncated')]: by(10),
    },
    waits: 1,
    fires: 20,
    good: {
      [requests('market.insights', '2xx')]: by(9980),
      [requests('market.insights', '5xx')]: by(4),
      [requests('market.insights', '5xx', 'not-cached')]: by(600),
    },
  },
  {
    alert: 'LenderGatewayErrorBudgetSlow',
    bad: { [requests('market.insights', '2xx')]: by(992), [requests('market.insights', '5xx')]: by(8) },
    waits: 14,
    fires: 30,
    good: { [requests('market.insights', '2xx')]: by(995), [requests('market.insights', '5xx')]: by(5) },
  },
]
