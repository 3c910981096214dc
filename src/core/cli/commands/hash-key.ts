import { Command, InvalidArgumentError, Option } from 'commander'
import { type OperatorScope, operatorNameForm, operatorNameMistake, operatorScopes } from '../../lib/operators.ts'

const hashKeyHelp = `
The key, or the token, is printed once and kept nowhere.

Exit code: 0 printed, 2 wrong usage.

Examples:
  lender-gateway hash-key --id bank-a-2026
  lender-gateway hash-key --operator oncall-anna --scope operate`

type HashKeyOptions = Readonly<{ id?: string; operator?: string; scope: OperatorScope }>

export const createHashKeyCommand = (): Command =>
  new Command('hash-key')
    .description('Make a key of a client or a token of an operator, and its hash for the configuration.')
    .option('--id <keyId>', 'the id that the key begins with (default: random)', parseKeyId)
    .addOption(new Option('--operator <NAME>', 'make a token of an operator, for admin.tokens').conflicts('id'))
    .addOption(new Option('--scope <SCOPE>', 'the scope of the token').choices(operatorScopes).default('read'))
    .addHelpText('after', hashKeyHelp)
    .action(async ({ id: requestedId, operator, scope }: HashKeyOptions, command: Command) => {
      if (operator === undefined && command.getOptionValueSource('scope') === 'cli')
        command.error("error: option '--scope <SCOPE>' is of a token: give --operator <NAME> too")
      const { digestSecret, generateSecret } = await import('../../lib/secrets.ts')
      const secret = generateSecret()
      const digest = digestSecret(secret).toString('hex')
      if (operator !== undefined) {
        const mistake = operatorNameMistake(operator)
        if (mistake !== null)
          command.error(`error: option '--operator <NAME>': it is ${mistake}; ${operatorNameForm} are expected`)
        const entry = `{ name: ${JSON.stringify(operator)}, hash: ${digest}, scope: ${scope} }`
        process.stdout.write(`for the operator, Authorization: Bearer ${secret}\nfor admin.tokens: ${entry}\n`)
        return
      }
      const id = requestedId ?? generateSecret().slice(0, 12)
      const keyLine = `for the client, X-Api-Key: ${id}.${secret}`
      process.stdout.write(`${keyLine}\nfor its apiKeys: { id: ${JSON.stringify(id)}, sha256: ${digest} }\n`)
    })

const parseKeyId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('1 to 64 letters, digits and -_ are expected.')
}
