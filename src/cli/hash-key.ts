import { hash, randomBytes } from 'node:crypto'
import { Command, InvalidArgumentError } from 'commander'

/** Makes the command `hash-key`: makes a key for a client, and what the configuration holds of it. */
export const hashKeyCommand = (): Command =>
  new Command('hash-key')
    .description('Make an API key: for the client the key itself, for the configuration what it is recognised by.')
    .option('--id <keyId>', 'what the key begins with, and is found by; made at random when left out', keyId)
    .addHelpText(
      'after',
      '\nThe key is printed once and kept nowhere.\n\nExit code: 0 printed, 2 not a key id.\n\nExample:\n  lender-gateway hash-key --id bank-a-2026',
    )
    .action(({ id = randomBytes(9).toString('base64url') }: { readonly id?: string }) => {
      const { key, sha256 } = makeKey(id)
      process.stdout.write(
        `for the client, X-Api-Key: ${key}\nfor its apiKeys: { id: ${quoted(id)}, sha256: ${sha256} }\n`,
      )
    })

/** Makes a key: its id, a dot, 256 random bits in base64url. */
const makeKey = (id: string): { readonly key: string; readonly sha256: string } => {
  const secret = randomBytes(32).toString('base64url')
  return { key: `${id}.${secret}`, sha256: hash('sha256', secret) }
}

/** YAML would read some ids as numbers or words of its own. */
const quoted = (id: string): string => JSON.stringify(id)

const keyId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('1 to 64 letters, digits and -_ are expected.')
}
