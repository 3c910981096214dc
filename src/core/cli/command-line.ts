import { Command, InvalidArgumentError, Option } from 'commander'
import { insertBeside } from '../lib/beside.ts'
import { type OperatorScope, operatorScopes } from '../lib/operators.ts'
import { version } from '../lib/program.ts'
import type { CommandPart } from './built-in-command.ts'
import { createCheckCommand } from './commands/check.ts'
import { createDiffCommand, createStatusCommand } from './commands/client-commands.ts'
import { createServeCommand } from './commands/serve.ts'

// Each loads its modules when it runs: `check` starts neither a server nor a logger.
const ownCommands = {
  serve: createServeCommand,
  status: createStatusCommand,
  diff: createDiffCommand,
  check: createCheckCommand,
  schema: () => createSchemaCommand(),
  'hash-key': () => createHashKeyCommand(),
}

const rootHelp = '\nExample:\n  lender-gateway serve --config config/gateway.yaml\n\nWithout a command: serve.'

export const isOwnCommand = (word: string | undefined): boolean =>
  word !== undefined && word !== 'check' && Object.hasOwn(ownCommands, word)

export function createCommandLine(
  features: readonly CommandPart[],
  operatorCommands: readonly { readonly parent: string | null; readonly command: Command }[],
): Command {
  const root = new Command('lender-gateway')
    .description('The single entry point to a lender integration service: exactly nine operations, routed by one file.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText('after', rootHelp)
    .exitOverride()
    // runCommandLine prints all failures.
    .configureOutput({ outputError: () => {} })
    // A subcommand and its parent may have options of the same name.
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
      check: [check(features.flatMap(({ fileChecks = [] }) => fileChecks))],
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
    // Without the inherited settings, a subcommand would end the process itself, with 1 for wrong usage.
    for (const subcommand of command.commands) subcommand.copyInheritedSettings(command)
  }
  return root
}

/** Adds `serve` where no command is given. commander's own default would take a misspelled command for an argument. */
export function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args
  const namesCommand = first !== undefined && (!first.startsWith('-') || /^(-h|--help|-V|--version)$/.test(first))
  return namesCommand ? args : ['serve', ...args]
}

const createSchemaCommand = (): Command =>
  new Command('schema')
    .description('Print the JSON Schema of the configuration file, for editors.')
    .addHelpText('after', '\nExit code: 0 printed.\n\nExample:\n  lender-gateway schema > config/gateway.schema.json')
    .action(async () => {
      const { jsonSchemaText } = await import('../config/schema/schema-keys.ts')
      process.stdout.write(jsonSchemaText())
    })

const hashKeyHelp = `
The key, or the token, is printed once and kept nowhere.

Exit code: 0 printed, 2 wrong usage.

Examples:
  lender-gateway hash-key --id bank-a-2026
  lender-gateway hash-key --operator oncall-anna --scope operate`

type HashKeyOptions = Readonly<{ id?: string; operator?: string; scope: OperatorScope }>

const createHashKeyCommand = (): Command =>
  new Command('hash-key')
    .description('Make a key of a client or a token of an operator, and what the configuration recognises it by.')
    .option('--id <keyId>', 'what the key begins with, and is found by; made at random when left out', parseKeyId)
    .addOption(new Option('--operator <NAME>', 'make a token of an operator, for admin.tokens').conflicts('id'))
    .addOption(new Option('--scope <SCOPE>', 'what the token is good for').choices(operatorScopes).default('read'))
    .addHelpText('after', hashKeyHelp)
    .action(async ({ id: requestedId, operator, scope }: HashKeyOptions, command: Command) => {
      if (operator === undefined && command.getOptionValueSource('scope') === 'cli')
        command.error("error: option '--scope <SCOPE>' is of a token: give --operator <NAME> too")
      const { digestSecret, generateSecret } = await import('../lib/secrets.ts')
      const secret = generateSecret()
      const digest = digestSecret(secret).toString('hex')
      if (operator !== undefined) {
        const { operatorNameForm, operatorNameMistake } = await import('../lib/operators.ts')
        const mistake = operatorNameMistake(operator)
        if (mistake !== null)
          command.error(`error: option '--operator <NAME>': it is ${mistake}; ${operatorNameForm} are expected`)
        const entry = `{ name: ${JSON.stringify(operator)}, hash: ${digest}, scope: ${scope} }`
        process.stdout.write(`for the operator, Authorization: Bearer ${secret}\nfor admin.tokens: ${entry}\n`)
        return
      }
      const id = requestedId ?? generateSecret().slice(0, 12)
      const keyLine = `for the client, X-Api-Key: ${id}.${secret}`
      // Unquoted, YAML reads some ids as numbers or keywords.
      process.stdout.write(`${keyLine}\nfor its apiKeys: { id: ${JSON.stringify(id)}, sha256: ${digest} }\n`)
    })

const parseKeyId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('1 to 64 letters, digits and -_ are expected.')
}
