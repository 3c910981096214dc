/** Keeps the page about the command line true: every command is on it, and each one's help has the options. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fullCommandLine } from '../../helpers/command-line.ts'

const page = readFileSync(new URL('../../../docs/command-line.md', import.meta.url), 'utf8')

const commands = fullCommandLine().commands

/** Takes what stands under the heading of a command. */
const section = (name: string): string => page.split(new RegExp(`^## ${name}$`, 'm'))[1]?.split(/^## /m)[0] ?? ''

test('the page has every command, and no other', () => {
  const listed = [...page.matchAll(/^\| \[`([a-z-]+)`\]\(#([a-z-]+)\) \|/gm)].map(([, name, anchor]) => [name, anchor])

  expect(listed).toEqual(commands.map((command) => [command.name(), command.name()]))
})

test.each(commands.map((command) => command.name()))('of %s it has exit codes and an example', (name) => {
  expect(section(name)).toMatch(/Exit code: 0/)
  expect(section(name)).toMatch(/^(\$ )?(lender-gateway|npm start) /m)
})

test('each option that the page names is one of the program', () => {
  const all = commands.flatMap((command) => [command, ...command.commands])
  const known = new Set(['--help', ...all.flatMap(({ options }) => options.map(({ long }) => long))])
  const named = [...page.matchAll(/(?<=[ `[])--[a-z]+/g)].map(([option]) => option)

  expect(named.filter((option) => !known.has(option))).toEqual([])
  expect(named.length).toBeGreaterThan(30)
})

test.each(commands.map((command) => [command.name(), command] as const))(
  '%s --help shows an example',
  (name, command) => {
    const written: string[] = []
    command.configureOutput({ writeOut: (text) => void written.push(text) })

    command.outputHelp()

    const help = written.join('')
    expect(help).toMatch(new RegExp(`\\nExamples?:\\n {2}lender-gateway ${name}`))
    expect(help).toContain('\nExit code: 0 ')
  },
)
