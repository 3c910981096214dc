/** The steps of a page, taken from it as they are printed and run. */
import { writeFileSync } from 'node:fs'
import { expect, onTestFinished } from 'vitest'
import { freePort } from '../../helpers/free-port.ts'
import { pinned } from '../../helpers/nodes.ts'
import type { Program } from '../../helpers/program.ts'
import { type ServeProcess, serve, waitForListening } from '../../helpers/serve-process.ts'
import { makeCheckout } from '../commands/checkout.ts'
import { read } from './files.ts'

/** A block of code: its language and its text. */
export type Block = readonly [language: string, text: string]

/** Takes the blocks of a page below a heading, down to the next one of its level. */
export const blocksBelow = (page: string, heading: string): readonly Block[] => {
  const [, below = ''] = `\n${read(page)}`.split(`\n${heading}\n`)
  // One # begins a comment of a block, too.
  const level = Math.max(heading.indexOf(' '), 2)
  const [section = ''] = below.split(new RegExp(`^#{2,${level}} `, 'm'))
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => [language, text])
}

/** Takes the texts of the blocks of one language. */
export const textsOf = (blocks: readonly Block[], language: string): readonly string[] =>
  blocks.flatMap(([of, text]) => (of === language ? [text] : []))

interface Finding {
  readonly about: string
  readonly cause: string
  readonly severity: string
}

/** Prepares a checkout in which the steps of a page are run, beside a gateway of its own on ports of the test's. */
export const prepareSteps = async (npm: Program, site: (text: string) => string = (text) => text) => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const mapped = (text: string): string =>
    site(text).replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`).replaceAll('127.0.0.1:9901', `127.0.0.1:${adminPort}`)
  const checkout = makeCheckout(npm.path ?? '', mapped)
  onTestFinished(() => checkout.remove())
  const config = read('config/gateway.yaml')
    .replace(/\$\{PORT:-8080\}/, String(port))
    .replace(/\$\{ADMIN_PORT:-9901\}/, String(adminPort))
  /** Runs commands; returns their exit code and their output. */
  const tryRun = (text: string) => checkout.run(text, [checkout.quick, ...pinned])
  /** Asks the admin listener for a document. */
  const ask = async <T>(path: string): Promise<T> =>
    (await (await fetch(`http://127.0.0.1:${adminPort}${path}`)).json()) as T
  const findings = async () => (await ask<{ readonly findings: readonly Finding[] }>('/status')).findings
  return {
    ...{ checkout, url: `http://127.0.0.1:${port}`, tryRun, ask, findings },
    /** Runs the commands of a block, which have to end well; returns their output. */
    async run(text: string): Promise<string> {
      const { code, output } = await tryRun(`set -e\n${text}`)
      expect([code, output]).toEqual([0, output])
      return output
    },
    causes: async () => (await findings()).map(({ cause }) => cause).join('\n'),
    /** Writes the configuration, with an edit of it. */
    write(edit: (text: string) => string): void {
      writeFileSync(checkout.file, `${edit(config)}\nworkers: 2\nshutdown: { wait: 0s }\n`)
    },
    async start(): Promise<ServeProcess> {
      const gateway = serve(checkout.file)
      await waitForListening(gateway)
      return gateway
    },
  }
}
