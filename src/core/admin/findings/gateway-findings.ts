import { type Group, groups } from '../../../operations.ts'
import { clientAuthorities, listenerCertificates } from '../../config/certificates.ts'
import type { Config } from '../../config/config.ts'
import { formatKeyPath, formatPlace } from '../../config/problem.ts'
import { expiryWarningMs } from '../../lib/certificate-expiry.ts'
import { type CommandLine, commandLine } from '../../lib/program.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { NotServingReason } from '../../runtime/proxy-server.ts'
import { applyFailedMessage } from '../../runtime/reload/reload-problems.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import { firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { sinceStart } from '../commands/phrases.ts'
import { checkCommandLine, type Finding, finding, joinWithAnd, mergeByGroup } from './finding.ts'
import type { FindingInputs, FindingSource } from './finding-inputs.ts'

// Clients notice that. Pauses of the garbage collector or of a shared machine are far shorter.
const lateMs = 500

const fullHeap = 0.9

const notServingText: Readonly<Record<NotServingReason | 'draining', string>> = {
  draining: 'the gateway is stopping: it finishes requests under way, and /ready says no',
  starting: 'no client is served: the gateway is starting',
  'not-listening': 'no client is served: the public listener is closed; restart the gateway',
  'no-worker': 'no client is served: no worker is ready',
}

export const servingFindings: FindingSource = ({ notServing, draining }) => {
  const why: keyof typeof notServingText | null = draining ? 'draining' : notServing
  const severity = draining ? 'warning' : 'critical'
  return why === null
    ? []
    : [finding('not-serving', severity, 'process', { why }, (facts) => [notServingText[facts.why]])]
}

export const eventLoopFindings: FindingSource = ({ report }) =>
  report.runtimes.flatMap(({ process, eventLoop: { delayMs } }) => {
    if (delayMs === null || delayMs.p99 < lateMs) return []
    const facts = { process, ms: Math.round(delayMs.p99), command: commandLine('top') }
    return finding('event-loop-late', 'warning', 'process', facts, ({ process, ms }) => [
      `the event loop${process === 'gateway' ? '' : ` of ${process}`} is up to ${formatDuration(ms)} late: the process or the machine is overloaded`,
    ])
  })

export const heapFindings: FindingSource = ({ report }) =>
  report.runtimes.flatMap(({ process, heap: { usedBytes, limitBytes } }) => {
    const percent = Math.round((usedBytes / limitBytes) * 100)
    if (usedBytes < fullHeap * limitBytes) return []
    return finding('heap-full', 'warning', 'process', { process, percent }, ({ process, percent }) => [
      `the heap of ${process} is ${percent} % full: at 100 % the process ends`,
    ])
  })

export const logFindings: FindingSource = ({ droppedLines: lines }) =>
  lines === 0
    ? []
    : [
        finding('log-lines-dropped', 'notice', 'log', { lines }, (facts) => [
          `${facts.lines} log lines were dropped ${sinceStart}: the reader of the log is too slow`,
        ]),
      ]

export const configFindings: FindingSource = ({ file, loadedAt }) => {
  const { name, differing, rolledBack, rejection, nextTryAt } = file
  const edit = `an edit of ${joinWithAnd(differing.length === 0 ? [name] : differing)}`
  if (rejection !== null) {
    const { trigger, since, isFileSound, areWorkersSilent } = rejection
    // The file is sound but needs a restart, its audit file cannot be opened, or workers did not reply: `check` would
    // find no fault.
    const again = trigger === 'rollback' ? 'rollback' : isFileSound ? 'reload' : null
    const isUnreached = nextTryAt !== null && !areWorkersSilent
    const command = isUnreached
      ? checkCommandLine(name, '--online')
      : again === null
        ? checkCommandLine(name)
        : commandLine(again)
    return finding('edit-rejected', 'warning', 'config', { edit, rejection, since, command }, ({ edit, rejection }) => {
      const [first, ...others] = rejection.problems
      const reason = first?.message === applyFailedMessage ? `: ${first.found}` : ''
      const why = first === undefined ? '' : `: ${formatPlace(first)}: ${first.message}${reason}`
      const more = others.length === 0 ? '' : `, and ${others.length} more`
      return [
        `${rejectionPhrase(edit, file, loadedAt)}${why}${more}`,
        rejection.isFileSound ? 'a restart uses the file as it is' : 'until the file is corrected, a restart fails',
      ]
    })
  }
  if (differing.length === 0) return []
  const command: CommandLine = { words: ['diff', name], target: 'file' }
  return finding('file-differs', 'notice', 'config', { edit, rolledBack, command }, ({ edit, rolledBack }) => [
    `${edit} ${rolledBack ? 'was rolled back, and a restart applies it; apply it now with: lender-gateway reload' : 'was not read yet; read it now with: lender-gateway reload'}`,
  ])
}

const rejectionPhrase = (
  edit: string,
  { rejection, rolledBack, nextTryAt }: FindingInputs['file'],
  loadedAt: number,
): string => {
  if (rejection?.trigger === 'rollback') return 'a rollback was rejected, and the running configuration stays in effect'
  if (nextTryAt !== null) return `${edit} is held back, and the running configuration stays in effect`
  const isOlderThanRollback = rolledBack && rejection !== null && rejection.at < loadedAt
  return `${edit} was rejected, and ${isOlderThanRollback ? 'never took effect' : 'the running configuration stays in effect'}`
}

/** Of several authorities for client certificates, the first that expires. */
export const listCertificates = (config: Config) =>
  [...listenerCertificates(config), ...clientAuthorities(config)].map(({ path, ...facts }) => ({
    key: formatKeyPath(path),
    ...facts,
  }))

export const certificateFindings: FindingSource = ({ at, config }) =>
  listCertificates(config).flatMap(({ key, notAfter }) => {
    if (notAfter - at > expiryWarningMs) return []
    if (notAfter >= at)
      return finding('certificate-expires', 'warning', key, { key, notAfter }, ({ key, notAfter }) => [
        `the certificate of ${key} expires at ${formatTime(notAfter)}`,
      ])
    return finding('certificate-expired', 'critical', key, { key, since: notAfter }, ({ key, since }) => [
      `the certificate of ${key} has expired, at ${formatTime(since)}`,
    ])
  })

/** By the endpoints' last handshakes. */
export const upstreamCertificateFindings = (
  inputs: FindingInputs,
  ofGroups: readonly Group[] = groups,
): readonly Finding[] =>
  mergeByGroup(
    ofGroups.flatMap((group) =>
      inputs.report.upstreams[group].endpoints.flatMap((each) => endpointCertificateFinding(group, each, inputs) ?? []),
    ),
    inputs.at,
  )

const endpointCertificateFinding = (group: Group, report: EndpointReport, inputs: FindingInputs): Finding | null => {
  const about = `upstreams.${group}`
  const { url, certificates } = report
  const { at, file } = inputs
  const certificate = firstToExpire(certificates)
  if (certificate === null || at < certificate.warnFrom) return null
  const { notAfter } = certificate
  const address = certificates.length === 1 ? null : certificate.address
  const command = checkCommandLine(file.name, '--online')
  const facts = { ...certificate, url, address, endpoints: [url], command }
  const shownBy = ({ url, address }: typeof facts) => (address === null ? url : `${url}, as ${address} shows it,`)
  if (notAfter > at)
    return finding('endpoint-certificate-expires', 'warning', about, facts, (facts) => [
      `the certificate of ${shownBy(facts)} expires at ${formatTime(facts.notAfter)}`,
    ])
  if (failsByExpiry(report, inputs)) return null
  const severity = inputs.config.upstreams[group].tls.verify ? 'critical' : 'warning'
  return finding('endpoint-certificate-expired', severity, about, { ...facts, since: notAfter }, (facts) => [
    `the certificate of ${shownBy(facts)} has expired, at ${formatTime(facts.notAfter)}; it was last seen at ${formatTime(facts.seenAt)}`,
  ])
}

const failsByExpiry = ({ url, failingSince, lastFailure }: EndpointReport, { report }: FindingInputs): boolean =>
  (failingSince !== null && lastFailure?.reason === 'certificate-expired') ||
  report.recentErrors.causes.some(({ endpoint, reason }) => endpoint === url && reason === 'certificate-expired')
