import { CommanderError } from 'commander'
import { errorMessage } from '../failures/error-message.ts'
import { createCommandLine, isBuiltInCommand } from './command-line.ts'

/**
 * Runs the command that the words of a command line name, and sets the exit code. 2: wrong usage, or a
 * {@link CliError}; 1: any other failure. Both print one line.
 */
export const runCommandLine = async (words: readonly string[]): Promise<void> => {
  try {
    // The operators' commands take long to load, and a health check runs every few seconds, each time in a process of
    // its own.
    const line = isBuiltInCommand(words[0])
      ? createCommandLine([])
      : (await import('./commands/operator-commands.ts')).createFullCommandLine()
    await line.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // `--help` and `--version` end here too, with 0. Help for want of a subcommand is printed by now.
      process.exitCode = error.exitCode === 0 ? 0 : 2
      if (error.exitCode !== 0 && error.code !== 'commander.help')
        process.stderr.write(`lender-gateway: ${await withSuggestion(error.message.replace(/^error: /, ''))}\n`)
    } else {
      const { CliError } = await import('./client/admin-target.ts')
      process.stderr.write(`lender-gateway: ${errorMessage(error)}\n`)
      process.exitCode = error instanceof CliError ? 2 : 1
    }
  }
}

/** Adds to the mistake of a word that is none of a few which one was probably meant, as commander does for options. */
const withSuggestion = async (message: string): Promise<string> => {
  const [, given = '', choices] = /'([^']*)' is invalid.* Allowed choices are (.*)\.$/s.exec(message) ?? []
  if (choices === undefined) return message
  // A health check makes no such mistake, and is not to load it.
  const { suggestNearest } = await import('../config/suggest.ts')
  const meant = suggestNearest(given, choices.split(', '))
  return meant === undefined ? message : `${message}\n(Did you mean ${meant}?)`
}
