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
      // commander has printed its line by now; `--help` and `--version` end here too, with 0.
      process.exitCode = error.exitCode === 0 ? 0 : 2
    } else {
      const { CliError } = await import('./client/admin-target.ts')
      process.stderr.write(`lender-gateway: ${errorMessage(error)}\n`)
      process.exitCode = error instanceof CliError ? 2 : 1
    }
  }
}
