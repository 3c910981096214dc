/** The command line with the commands of every feature. */
import type { Command } from 'commander'
import { loadCommands } from '../../src/core/cli/built-in-command.ts'
import { createFullCommandLine } from '../../src/core/cli/commands/operator-commands.ts'

const features = await loadCommands()

/** Makes the command line anew: commander keeps what it has parsed. */
export const fullCommandLine = (): Command => createFullCommandLine(features)
