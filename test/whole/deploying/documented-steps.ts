/** The steps of a page, taken from it as they are printed and run. */
import { expect } from 'vitest'
import { pinned } from '../../helpers/nodes.ts'
import type { Checkout } from '../commands/checkout.ts'
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

/** Runs the commands of a block, which have to end well; returns their output. */
export const runBlock = async (checkout: Checkout, text: string): Promise<string> => {
  const { code, output } = await checkout.run(`set -e\n${text}`, [checkout.quick, ...pinned])
  expect([code, output]).toEqual([0, output])
  return output
}

/** Asks the admin listener for a document. */
export const askAdmin = async <T>(port: number, path: string): Promise<T> =>
  (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as T
