/** Makes the command line with the commands of every feature anew: commander keeps what it has parsed. */
export { createFullCommandLine as fullCommandLine } from '../../src/core/cli/commands/operator-commands.ts'
