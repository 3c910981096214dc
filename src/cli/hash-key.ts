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
    .action(async ({ id: named }: { readonly id?: string }) => {
      const { hash, randomBytes } = await import('node:crypto')
      const id = named ?? randomBytes(9).toString('base64url')
      const secret = randomBytes(32).toString('base64url')
      const shown = `for the client, X-Api-Key: ${id}.${secret}`
      process.stdout.write(`${shown}\nfor its apiKeys: { id: ${quoted(id)}, sha256: ${hash('sha256', secret)} }\n`)
    })

/** YAML would read some ids as numbers or words of its own. */
const quoted = (id: string): string => JSON.stringify(id)

const keyId = (text: string): string => {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('1 to 64 letters, digits and -_ are expected.')
}
