import { version } from '../../version.ts'
import { type AdminTarget, targetUrl } from '../client/admin-target.ts'

/** Prints JSON for programs. */
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)

/** Says on stderr when it was not the file's word where the gateway is, and when that is of another version. */
export const warnAboutTarget = (target: AdminTarget, gatewayVersion: string = version()): void => {
  if (target.fallbackReason !== null)
    process.stderr.write(`lender-gateway: ${target.fallbackReason}; asked ${targetUrl(target)}\n`)
  if (gatewayVersion !== version())
    process.stderr.write(`lender-gateway: ${targetUrl(target)} is ${versionMismatch(gatewayVersion)}\n`)
}

/** Says what to do about a gateway of another version. */
export const versionMismatch = (gatewayVersion: string): string =>
  `version ${gatewayVersion}, this command is version ${version()}: use the same version`

const units = [
  { length: 86_400, name: 'd' },
  { length: 3600, name: 'h' },
  { length: 60, name: 'm' },
  { length: 1, name: 's' },
]

/** Writes a length of time as people say it, in at most two units: `3d 4h`, `12m 5s`, `0s`. */
export const humanizeSeconds = (seconds: number): string => {
  let rest = Math.max(0, Math.floor(seconds))
  const parts = units.map(({ length, name }) => {
    const amount = Math.floor(rest / length)
    rest -= amount * length
    return { amount, text: `${amount}${name}` }
  })
  const first = parts.findIndex(({ amount }) => amount > 0)
  const shown = first === -1 ? parts.slice(-1) : parts.slice(first, first + 2).filter(({ amount }) => amount > 0)
  return shown.map(({ text }) => text).join(' ')
}

/** Writes a time of RFC 3339 without its fraction, and how long that was before `at`. */
export const formatAgo = (time: string, at: number): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${formatInstant(ms)}, ${humanizeSeconds((at - ms) / 1000)} ago`
}

/** Writes a time of RFC 3339 without its fraction, and how long that is after `at`. */
export const formatTimeLeft = (time: string, at: number): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : `${formatInstant(ms)}, ${humanizeSeconds(Math.ceil((ms - at) / 1000))} left`
}

const formatInstant = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
