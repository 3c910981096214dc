import { expect, test } from 'vitest'
import { parseConfig } from '../../../../src/core/config/load/load-config.ts'
import { formatProblem } from '../../../../src/core/config/problem.ts'
import { groups } from '../../../../src/operations.ts'

/** A mistake: the file with it, and the parts of its message. Without a key, the mistake is outside of all keys. */
export interface Mistake {
  readonly text: string
  readonly line: number
  readonly key: string
  readonly message: string
  readonly remedy: string
}

/**
 * Renders the eight groups, a line each from the second on, with risk on the fifth; `risk` is the text after its colon.
 */
const upstreams = (risk = ' sandbox'): string =>
  `upstreams:\n${groups.map((group) => `  ${group}:${group === 'risk' ? risk : ' sandbox'}\n`).join('')}`

/** Puts lines before the groups. */
export const withTopLines = (...lines: readonly string[]): string => `${lines.join('\n')}\n${upstreams()}`

/** Puts lines under risk, the first on the sixth. */
const risk = (...lines: readonly string[]): string => upstreams(['', ...lines].join('\n    '))

/** Tests each mistake: one problem, and its message names the line, the key and the remedy. */
export const tryMistakes = (mistakes: Readonly<Record<string, Mistake>>): void =>
  test.each(Object.entries(mistakes))('%s', (_what, { text, line, key, message, remedy }) => {
    const result = parseConfig(Buffer.from(text), 'gateway.yaml', {})

    const problems = result.ok ? [] : result.problems
    expect(problems).toHaveLength(1)
    const [head = '', ...details] = problems.map(formatProblem).join('').split('\n')
    const [place, ...words] = head.split(': ')
    expect(place).toMatch(/^gateway\.yaml:\d+:\d+/)
    expect(place?.replace(/^gateway\.yaml:(\d+):\d+/, '$1').trim()).toBe(`${line} ${key}`.trim())
    expect(words.join(': ')).toContain(message)
    expect([...words, ...details].join('\n')).toContain(remedy)
    expect(head).not.toContain('hunter2')
  })

/** Puts lines under `defaults`, the first on the second line of the file. */
export const defaults = (...lines: readonly string[]): string =>
  withTopLines('defaults:', ...lines.map((line) => `  ${line}`))

/** Puts lines under risk, the first on the seventh. */
export const riskUpstream = (...lines: readonly string[]): string => risk('endpoints: [https://risk]', ...lines)

/** Makes a mistake in one line. */
export const oneLineMistake = (text: string, line: number, key: string, message: string, remedy: string): Mistake => ({
  ...{ text, line, key, message, remedy },
})

/** The path of the keys of {@link riskUpstream}. */
export const riskPath = 'upstreams.risk'
/** Makes a PEM text without contents. */
export const pem = (label: string): string => `"-----BEGIN ${label}-----\\nnothing\\n-----END ${label}-----"`
