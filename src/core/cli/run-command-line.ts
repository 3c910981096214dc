import { type Command, CommanderError } from 'commander'
import { errorMessage } from '../lib/try.ts'
import { commandPartLoaders, loadFileChecks } from './built-in-command.ts'
import { createCommandLine, isOwnCommand } from './command-line.ts'

/** Sets the exit code. 2: wrong usage, or a {@link CliError}; 1: any other failure. Both print one line. */
export const runCommandLine = async (words: readonly string[]): Promise<void> => {
  let line: Command | null = null
  try {
    line = await createCommandLineFor(words[0])
    await line.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // `--help` and `--version` end here with 0. The help for a missing subcommand is already printed.
      process.exitCode = error.exitCode === 0 ? 0 : 2
      if (error.exitCode !== 0 && error.code !== 'commander.help')
        process.stderr.write(`lender-gateway: ${await withSuggestion(error, line)}\n`)
    } else {
      const { CliError } = await import('./client/admin-target.ts')
      process.stderr.write(`lender-gateway: ${errorMessage(error)}\n`)
      process.exitCode = error instanceof CliError ? 2 : 1
    }
  }
}

/** Loads only what the first word may need: features load slowly, and a health check comes every few seconds. */
const createCommandLineFor = async (word: string | undefined): Promise<Command> => {
  if (word === 'check') return createCommandLine({ fileChecks: await loadFileChecks() })
  if (isOwnCommand(word)) return createCommandLine()
  const features = await commandPartLoaders.load()
  const commands = features.flatMap(({ builtInCommands = [] }) => builtInCommands)
  const named = commands.find(({ create }) => create().name() === word)
  if (named !== undefined && !named.isParent) return createCommandLine({ features })
  return (await import('./commands/operator-commands.ts')).createFullCommandLine()
}

/** Appends the word that was probably meant, which commander does only for options and commands. */
const withSuggestion = async ({ code, message: whole }: CommanderError, line: Command | null): Promise<string> => {
  const message = whole.replace(/^error: /, '')
  const [, given, choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.$/s.exec(message) ?? []
  const [, unknown] = /^unknown (?:option '--|command ')([^'=]*)[^\n]*$/.exec(message) ?? []
  if (unknown !== undefined) return withRenamed(message, unknown, line)
  const isOfWords = code === 'commander.excessArguments' || code === 'commander.missingArgument'
  if (choices === undefined && !isOfWords) return message
  // Imported late: a health check makes no such mistake.
  const { suggestNearest } = await import('../config/suggest.ts')
  const meant =
    choices === undefined ? suggestWord(line, suggestNearest) : suggestNearest(given ?? '', choices.split(', '))
  return meant === undefined ? message : `${message}\n(Did you mean ${meant}?)`
}

/** Names an option or a command that was renamed: commander suggests by likeness alone. */
const withRenamed = async (message: string, old: string, line: Command | null): Promise<string> => {
  if (line === null) return message
  const { findRenamed } = await import('../config/renamed.ts')
  const { options, commands } = deepestCommand(line)
  const name = findRenamed(old, [...options.map((option) => option.name()), ...commands.map((each) => each.name())])
  if (name === undefined) return message
  return `${message}\n(It is now named ${message.startsWith('unknown option') ? `--${name}` : name}.)`
}

const suggestWord = (
  line: Command | null,
  suggestNearest: (word: string, known: readonly string[]) => string | undefined,
): string | undefined => {
  if (line === null) return undefined
  const command = deepestCommand(line)
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const known = new Map([
    ...command.options.map((option) => [option.name(), option.long] as const),
    ...[...command.commands.map((each) => each.name()), ...choices].map((word) => [word, word] as const),
  ])
  return command.args
    .filter((word) => !choices.includes(word))
    .map((word) => known.get(suggestNearest(word, [...known.keys()]) ?? ''))
    .find((word) => word !== undefined)
}

const deepestCommand = (line: Command): Command => {
  let command = line
  // Each command has the words after its name as arguments.
  for (let next: Command | undefined = line; next !== undefined; next = subcommandOf(next)) command = next
  return command
}

const subcommandOf = ({ commands, args: [first] }: Command): Command | undefined =>
  commands.find((each) => each.name() === first)
