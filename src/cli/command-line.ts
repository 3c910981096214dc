import { Command } from 'commander'
import { version } from '../version.ts'
import { auditCommand } from './audit.ts'
import { bundleCommand } from './bundle.ts'
import { checkCommand } from './check.ts'
import { diffCommand } from './diff.ts'
import { explainCommand } from './explain.ts'
import { hashKeyCommand } from './hash-key.ts'
import { schemaCommand } from './schema.ts'
import { serveCommand } from './serve.ts'
import { statusCommand } from './status.ts'
import { tailCommand } from './tail.ts'
import { topCommand } from './top.ts'

/** Lists the commands that the gateway takes no part in, or only tells; each loads what it needs when it runs: `check` starts neither a server nor a logger. */
const first = () => [serveCommand(), statusCommand(), topCommand()]
const last = () => [
  tailCommand(),
  diffCommand(),
  bundleCommand(),
  auditCommand(),
  checkCommand(),
  explainCommand(),
  schemaCommand(),
  hashKeyCommand(),
]

/** Tells whether a word names one of them. */
export const isNamed = (word: string | undefined): boolean =>
  [...first(), ...last()].some((command) => command.name() === word)

/** Builds the command line of these commands, with those of operators among them. */
export function commandLine(operators: readonly Command[]): Command {
  const top = new Command('lender-gateway')
    .description('The single entry point to a lender integration service: exactly nine operations, routed by one file.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText(
      'after',
      '\nExample:\n  lender-gateway serve --config config/gateway.yaml\n\nWithout a command: serve.',
    )
    .exitOverride()
  for (const command of [...first(), ...operators, ...last()]) {
    top.addCommand(command.copyInheritedSettings(top))
    // One of a command's own would end the process by itself otherwise, wrong usage with 1.
    for (const own of command.commands) own.copyInheritedSettings(command)
  }
  return top
}

/** Puts `serve` in front when the arguments name no command. commander's own default would take a misspelt command for its argument. */
export function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args
  const named = first !== undefined && (!first.startsWith('-') || /^(-h|--help|-V|--version)$/.test(first))
  return named ? args : ['serve', ...args]
}
