/** Every command that the pages print, as it stands there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's root. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Printed {
  readonly page: string
  /** The heading that it stands below. */
  readonly heading: string
  /** As a shell takes it: without the prompt, and without the comment behind it. */
  readonly text: string
}

/** Reads a file by its path below the root. */
export const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const pages = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'README.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].sort()

// A fenced block as a whole, or a heading: what looks like a heading within a block is a comment of the shell's.
const piece = /^```(\w*)\n(.*?)^```$|^#+ ([^\n]*)$/gms

/** Lists what stands in blocks of a shell's, a command each, and behind the prompts of all others. */
export const printed: readonly Printed[] = pages.flatMap((page) => {
  let heading = ''
  return [...read(page).matchAll(piece)].flatMap(([, language = '', block = '', title]) => {
    heading = title ?? heading
    const texts = /^(ba|z)?sh$|^shell$/.test(language) ? commandsOf(block) : prompted(block)
    return texts.map((text) => ({ page, heading, text }))
  })
})

// What begins like this is meant to be typed; a program that the pages do not name yet has to be added here to be
// looked at in running text.
const programs = 'npx|npm|node|lender-gateway|curl|docker|kubectl|systemctl|journalctl|openssl|ssh|git'

/** Lists what stands in running text as a command with something behind it. */
export const mentioned: readonly Printed[] = pages.flatMap((page) =>
  [
    ...read(page)
      .replaceAll(/^```.*?^```$/gms, '')
      .matchAll(/`([^`]+)`/g),
  ]
    .map(([, text = '']) => text.replaceAll('\n', ' '))
    .filter((text) => new RegExp(`^(${programs}) `).test(text))
    .map((text) => ({ page, heading: '', text })),
)

/** Splits a block of `sh`: a line is a command, but for loops and lines that a backslash continues. */
function commandsOf(block: string): readonly string[] {
  return block
    .replaceAll(/ +# .*$/gm, '')
    .replaceAll('\\\n', '')
    .split(/\n(?! {2}|done)/)
    .filter((line) => line !== '')
}

function prompted(block: string): readonly string[] {
  return block.split('\n').flatMap((line) => (line.startsWith('$ ') ? [line.slice(2)] : []))
}
