import { isOrder } from '../../shared/command.ts'
import { printable } from '../printable.ts'
import type { Finding } from './findings-answer.ts'
import { ago } from './span.ts'

/** Writes what is wrong, the worst first, each with what shows more; nothing is said as well. */
export const findingsText = (findings: readonly Finding[], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((each) => lines(each, at)).join('\n')

const lines = ({ severity, about, cause, details, since, command }: Finding, at: number): string => {
  const more = [
    ...(since === null ? [] : [`since ${ago(since, at)}`]),
    ...(command === null ? [] : [`${isOrder(command) ? 'to do' : 'more'}: ${printable(command)}`]),
  ]
  const first = `${shown(severity).padEnd(width)}  ${printable(about)}: ${printable(cause)}`
  const below = [
    ...(more.length === 0 ? [] : [more.join('; ')]),
    ...(details ?? []).map((each) => `- ${printable(each)}`),
  ]
  return [first, ...below.map((each) => `${' '.repeat(width)}  ${each}`)].join('\n')
}

const shown = (severity: string): string => (severity === 'critical' ? 'CRITICAL' : printable(severity))

const width = 'CRITICAL'.length
