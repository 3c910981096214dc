import { Command } from 'commander'
import { insertBeside } from '../lib/beside.ts'
import { version } from '../lib/program.ts'
import type { CommandPart, FileCheck } from './built-in-command.ts'
import { createCheckCommand } from './commands/check.ts'
import { createDiffCommand, createStatusCommand } from './commands/client-commands.ts'
import { createHashKeyCommand } from './commands/hash-key.ts'
import { createSchemaCommand } from './commands/schema.ts'
import { createServeCommand } from './commands/serve.ts'

// Each command loads its modules when it runs: `check` starts neither a server nor a logger.
const ownCommands = {
  serve: createServeCommand,
  status: createStatusCommand,
  diff: createDiffCommand,
  check: createCheckCommand,
  schema: createSchemaCommand,
  'hash-key': createHashKeyCommand,
}

const rootHelp = '\nExample:\n  lender-gateway serve --config config/gateway.yaml\n\nWithout a command: serve.'

export const isOwnCommand = (word: string | undefined): boolean =>
  word !== undefined && Object.hasOwn(ownCommands, word)

export interface CommandLineParts {
  readonly features?: readonly CommandPart[]
  readonly fileChecks?: readonly FileCheck[]
  readonly operatorCommands?: readonly { readonly parent: string | null; readonly command: Command }[]
}

export function createCommandLine({
  features = [],
  fileChecks = [],
  operatorCommands = [],
}: CommandLineParts = {}): Command {
  const root = new Command('lender-gateway')
    .description('The single entry point to a lender integration service: exactly nine operations, routed by one file.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText('after', rootHelp)
    .exitOverride()
    // runCommandLine prints all failures.
    .configureOutput({ outputError: () => {} })
    // A subcommand and its parent have options of the same name.
    .enablePositionalOptions()
  const subcommandsOf = (parent: string | null): readonly Command[] =>
    operatorCommands.flatMap((each) => (each.parent === parent ? [each.command] : []))
  const { serve, status, diff, check, schema, 'hash-key': hashKey } = ownCommands
  const inOrder = insertBeside(
    {
      serve: [serve()],
      status: [status()],
      operators: subcommandsOf(null),
      diff: [diff()],
      check: [check(fileChecks)],
      rest: [schema(), hashKey()],
    },
    features.flatMap(({ builtInCommands = [] }) =>
      builtInCommands.map((each) => ({ ...each, value: [each.create()] })),
    ),
  )
  const subcommands = features.flatMap((part) => part.subcommands ?? [])
  for (const command of inOrder.flat()) {
    const name = command.name()
    for (const { parent, create } of subcommands) if (parent === name) command.addCommand(create())
    for (const subcommand of subcommandsOf(name)) command.addCommand(subcommand)
    root.addCommand(command.copyInheritedSettings(root))
    // Otherwise a subcommand would end the process itself, with 1 for wrong usage.
    for (const subcommand of command.commands) subcommand.copyInheritedSettings(command)
  }
  return root
}
