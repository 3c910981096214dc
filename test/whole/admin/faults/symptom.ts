/**
 * Reads symptoms from docs/operating.md. A test makes the fault, and looks for the sentence wherever an operator would.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { FindingView } from '../../../../src/core/admin/findings/finding.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'

export interface Symptom {
  readonly heading: string
  readonly severity: string
  readonly about: string
  /** The pattern of the cause: with other URLs, paths and numbers. */
  readonly cause: RegExp
  /** The command that shows more; null: there is none. */
  readonly command: RegExp | null
}

const text = readFileSync(fileURLToPath(new URL('../../../../docs/operating.md', import.meta.url)), 'utf8')

// A URL, a path of a file, a number with its unit, a time.
const variablePart = /(https?:\/\/[^\s;,)]+|\/[\w./-]+|\d[\w.:-]*)/

/** A pattern for causes of the same kind. */
const pattern = (example: string): RegExp => {
  const parts = example
    .replaceAll(/\d+ requests (failed|were rejected)/g, '@$1')
    .split(variablePart)
    .map((part, i) => (i % 2 === 1 ? '[^\\s;,)]+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))
  return new RegExp(
    parts.join('').replaceAll(/@(failed|were rejected)/g, '\\d+ requests? (failed|was rejected|were rejected)'),
  )
}

/** The symptoms in the order of the page: its numbered sections. */
export const symptoms: readonly Symptom[] = text
  .split(/^## /m)
  .filter((section) => /^\d+\. /.test(section))
  .map((section) => {
    const example =
      /^\$ lender-gateway status\n(CRITICAL|warning|notice) +([\w.[\]-]+): (.+)\n +since [^;\n]+(?:; more: (.+))?$/m
    const [, severity = '', about = '', cause = '', command] = example.exec(section) ?? []
    // A checkout runs the program by another command.
    const shown = command === undefined ? null : pattern(command.replace(/^lender-gateway /, ''))
    const heading = section.split('\n', 1)[0] ?? ''
    return { heading, severity: severity.toLowerCase(), about, cause: pattern(cause), command: shown }
  })

export const symptom = (number: number): Symptom => {
  const found = symptoms.find(({ heading }) => heading.startsWith(`${number}. `))
  if (found === undefined) throw new Error(`docs/operating.md has no symptom ${number}`)
  return found
}

/** Asks a gateway for its findings. */
export const findingsOf = async (admin: string): Promise<readonly FindingView[]> => {
  const { findings } = (await fetchAdmin(`${admin}/status`)).body
  if (findings === undefined) throw new Error('/status has no findings')
  return findings
}

/** A busy machine may make it late. */
export const lacks = async (admin: string, { about, cause }: Symptom): Promise<void> => {
  const found = (await findingsOf(admin)).filter((finding) => finding.about === about)
  expect(found.filter((finding) => about !== 'process' || cause.test(finding.cause))).toEqual([])
}

/** Looks in `/status`, in the output of `status`, and on the page. */
export const shows = async (admin: string, { severity, about, cause, command }: Symptom): Promise<FindingView> => {
  const find = async () => (await findingsOf(admin)).find((each) => each.about === about && cause.test(each.cause))
  const shown = command === null ? null : expect.stringMatching(command)
  await expect.poll(find).toMatchObject({ severity, command: shown })
  const { code, out } = await runCommand(['status', '--admin', admin])
  const [top = ''] = out.split('\n\ngateway  ')
  const label = severity === 'critical' ? 'CRITICAL' : severity
  expect(code).toBe(0)
  expect(top).toMatch(new RegExp(`^${label} +${about.replaceAll('.', '\\.')}: ${cause.source}`, 'm'))
  expect(textOf(await (await fetch(admin, { headers: { accept: 'text/html' } })).text())).toMatch(cause)
  return (await find()) as FindingView
}

const textOf = (html: string): string =>
  html.replaceAll(/<[^>]+>/g, '').replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
