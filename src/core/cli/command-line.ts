import { Command, InvalidArgumentError, Option } from 'commander'
import { createContractCommand } from '../../features/contract/contract-commands.ts'
import { createExplainCommand } from '../../features/explain/explain.ts'
import { createHttpRouteCommand } from '../../features/httproute/httproute.ts'
import { type OperatorScope, operatorScopes } from '../lib/operator-scopes.ts'
import { version } from '../lib/version.ts'
import { createCheckCommand } from './commands/check.ts'
import {
  createBundleCommand,
  createDiffCommand,
  createStatusCommand,
  createTailCommand,
  createTopCommand,
} from './commands/client-commands.ts'
import { createServeCommand } from './commands/serve.ts'
import { createFormatOption, type DocumentFormat, defaultConfigFile } from './options.ts'
import { printMadeDocument } from './render/print-made-document.ts'

// The built-in commands, which change nothing in a running gateway. In the help they stand around the operator
// commands, which do. Each loads its modules when it runs: `check` starts neither a server nor a logger.
const leadingCommands = () => [createServeCommand(), createStatusCommand(), createTopCommand()]
const trailingCommands = () => [
  createTailCommand(),
  createDiffCommand(),
  createContractCommand(),
  createBundleCommand(),
  createAuditCommand(),
  createCheckCommand(),
  createExplainCommand(),
  createOpenApiCommand(),
  createHttpRouteCommand(),
  createSchemaCommand(),
  createHashKeyCommand(),
]

/** Tells whether a word names a built-in command, of which no subcommand is an operator command. */
export const isBuiltInCommand = (word: string | undefined): boolean =>
  word !== 'contract' && [...leadingCommands(), ...trailingCommands()].some((command) => command.name() === word)

/** An operator command, and the built-in command that it belongs to; null: none. */
interface OperatorCommand {
  readonly parent: string | null
  readonly command: Command
}

export function createCommandLine(operatorCommands: readonly OperatorCommand[]): Command {
  const root = new Command('lender-gateway')
    .description('The single entry point to a lender integration service: exactly nine operations, routed by one file.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText(
      'after',
      '\nExample:\n  lender-gateway serve --config config/gateway.yaml\n\nWithout a command: serve.',
    )
    .exitOverride()
    // runCommandLine prints mistakes, as every other failure of the program.
    .configureOutput({ outputError: () => {} })
    // The options of a subcommand are its own, although its parent has some of the same name.
    .enablePositionalOptions()
  const subcommandsOf = (parent: string | null): readonly Command[] =>
    operatorCommands.flatMap((each) => (each.parent === parent ? [each.command] : []))
  for (const command of [...leadingCommands(), ...subcommandsOf(null), ...trailingCommands()]) {
    for (const subcommand of subcommandsOf(command.name())) command.addCommand(subcommand)
    root.addCommand(command.copyInheritedSettings(root))
    // Without the inherited settings, a subcommand would end the process itself, with 1 for wrong usage.
    for (const subcommand of command.commands) subcommand.copyInheritedSettings(command)
  }
  return root
}

/** Puts `serve` first without a command. commander's own default would take a misspelt command for an argument. */
export function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args
  const namesCommand = first !== undefined && (!first.startsWith('-') || /^(-h|--help|-V|--version)$/.test(first))
  return namesCommand ? args : ['serve', ...args]
}

const auditHelp = `
FILE... are the files of one audit log, in any order. Each may be verified alone, from where it says that it begins.
The key is the one of audit.key; after a change of the key, give both. A checkpoint is COUNT:HASH, as the line "audit checkpoint" of the main log says
them, or a file that holds such lines: the main log. Without one, nobody can tell whether the end was cut off.

Exit code: 0 all is as it was written, 1 something is not, 2 wrong usage, or a file cannot be read.

Example:
  lender-gateway audit verify /var/log/lender-gateway/audit.log* --key file:/run/secrets/audit-key --checkpoint gateway.log`

interface VerifyOptions {
  readonly key: readonly string[]
  readonly checkpoint: readonly string[]
  readonly mixed: boolean
}

const createAuditCommand = (): Command =>
  new Command('audit')
    .description('Work with audit logs.')
    .addHelpText('after', auditHelp)
    .addCommand(createVerifyCommand())

/** Makes the command `audit verify`: exit 0 when an audit log is intact, 1 when it is not, 2 when it cannot be read. */
const createVerifyCommand = (): Command =>
  new Command('verify')
    .description('Tell whether an audit log is as it was written: no line edited, dropped, inserted or moved.')
    .argument('<FILE...>', 'the files')
    .requiredOption('--key <file:PATH>', 'the key; again for further ones', collect)
    .option('--checkpoint <COUNT:HASH|FILE>', 'where the chain stood once; again for further ones', collect, [])
    .option('--mixed', 'the lines stand among others, as with audit.file: stdout', false)
    .addHelpText('after', auditHelp)
    .action(async (files: readonly string[], { key, checkpoint, mixed }: VerifyOptions) => {
      const { verifyAuditLog } = await import('../../features/audit/verify-command.ts')
      process.exitCode = await verifyAuditLog(files, { keys: key, checkpoints: checkpoint, mixed })
    })

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

const openApiHelp = `
It tells what the file says, as start-up or a reload would read it, and asks no gateway. A running gateway has the document at
GET /openapi.json of its admin listener.

Exit code: 0 printed, 1 the file has problems, 2 the file cannot be read, or wrong usage.

Examples:
  lender-gateway openapi > openapi.yaml
  lender-gateway openapi --config config/gateway.yaml --format json`

/** Makes the command `openapi`: exit 0 when the document is printed, 1 for a file with problems, 2 for no file. */
const createOpenApiCommand = (): Command =>
  new Command('openapi')
    .description('Print the OpenAPI 3.1 document of the nine, with errors, fields and authentication of the gateway.')
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .addOption(createFormatOption('yaml'))
    .addHelpText('after', openApiHelp)
    .action(({ config: file, format }: { readonly config: string; readonly format: DocumentFormat }) =>
      printMadeDocument(file, format, async (config) => {
        const { createOpenApiDocument } = await import('../../features/openapi/openapi-document.ts')
        return createOpenApiDocument(config, config.compiledContract?.document ?? null)
      }),
    )

const createSchemaCommand = (): Command =>
  new Command('schema')
    .description('Print the JSON Schema of the configuration file, for editors.')
    .addHelpText('after', '\nExit code: 0 printed.\n\nExample:\n  lender-gateway schema > config/gateway.schema.json')
    .action(async () => {
      const { jsonSchemaText } = await import('../config/json-schema.ts')
      process.stdout.write(jsonSchemaText())
    })

const hashKeyHelp = `
The key, or the token, is printed once and kept nowhere.

Exit code: 0 printed, 2 wrong usage.

Examples:
  lender-gateway hash-key --id bank-a-2026
  lender-gateway hash-key --operator oncall-anna --scope operate`

interface HashKeyOptions {
  readonly id?: string
  readonly operator?: string
  readonly scope: OperatorScope
}

/** Makes the command `hash-key`, which prints a new key or token, and its hash for the configuration. */
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
        const { operatorNameForm, operatorNameMistake } = await import('../config/schema/operator-name.ts')
        const mistake = operatorNameMistake(operator)
        if (mistake !== null)
          command.error(`error: option '--operator <NAME>': it is ${mistake}; ${operatorNameForm} are expected`)
        const entry = `{ name: ${yamlQuoted(operator)}, hash: ${digest}, scope: ${scope} }`
        process.stdout.write(`for the operator, Authorization: Bearer ${secret}\nfor admin.tokens: ${entry}\n`)
        return
      }
      const id = requestedId ?? generateSecret().slice(0, 12)
      const keyLine = `for the client, X-Api-Key: ${id}.${secret}`
      process.stdout.write(`${keyLine}\nfor its apiKeys: { id: ${yamlQuoted(id)}, sha256: ${digest} }\n`)
    })

/** Quotes an id: YAML would read some as numbers, or as words of its own. */
const yamlQuoted = (id: string): string => JSON.stringify(id)

const parseKeyId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('1 to 64 letters, digits and -_ are expected.')
}
