import { type Command, CommanderError } from 'commander'
import { errorMessage } from '../lib/try.ts'
import { commandPartLoaders } from './built-in-command.ts'
import { createCommandLine, isOwnCommand } from './command-line.ts'

/**
 * Runs the command that the words of a command line name, and sets the exit code. 2: wrong usage, or a
 * {@link CliError}; 1: any other failure. Both print one line.
 */
export const runCommandLine = async (words: readonly string[]): Promise<void> => {
  let line: Command | null = null
  try {
    line = await createCommandLineFor(words[0])
    await line.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // `--help` and `--version` end here too, with 0. Help for want of a subcommand is printed by now.
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

/**
 * Features and the operators' commands take long to load, and a health check runs every few seconds, each time in a
 * process of its own: loads what the first word may mean.
 */
const createCommandLineFor = async (word: string | undefined): Promise<Command> => {
  if (isOwnCommand(word)) return createCommandLine([], [])
  const features = await commandPartLoaders.load()
  if (word === 'check') return createCommandLine(features, [])
  const commands = features.flatMap(({ builtInCommands = [] }) => builtInCommands)
  const named = commands.find(({ create }) => create().name() === word)
  if (named !== undefined && !named.isParent) return createCommandLine(features, [])
  return (await import('./commands/operator-commands.ts')).createFullCommandLine()
}

/** Adds to the mistake in a command line which word was probably meant, as commander does for options and commands. */
const withSuggestion = async ({ code, message: whole }: CommanderError, line: Command | null): Promise<string> => {
  const message = whole.replace(/^error: /, '')
  const [, given, choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.$/s.exec(message) ?? []
  const isOfWords = code === 'commander.excessArguments' || code === 'commander.missingArgument'
  if (choices === undefined && !isOfWords) return message
  // A health check makes no such mistake, and is not to load it.
  const { suggestNearest } = await import('../config/suggest.ts')
  const meant =
    choices === undefined ? suggestWord(line, suggestNearest) : suggestNearest(given ?? '', choices.split(', '))
  return meant === undefined ? message : `${message}\n(Did you mean ${meant}?)`
}

/**
 * Finds which word of a command was meant by one that stands where an argument is expected: a subcommand, an option, or
 * one of a few arguments.
 */
const suggestWord = (
  line: Command | null,
  suggestNearest: (word: string, known: readonly string[]) => string | undefined,
): string | undefined => {
  if (line === null) return undefined
  let command = line
  // Each command has the words that stand behind its name.
  for (let next: Command | undefined = line; next !== undefined; next = subcommandOf(next)) command = next
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

const subcommandOf = ({ commands, args: [first] }: Command): Command | undefined =>
  commands.find((each) => each.name() === first)
