import { readFileSync } from 'node:fs'

/** Tells the version of the gateway, as package.json has it. */
export const version = (): string => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  const { version }: { version: string } = JSON.parse(text)
  return version
}
