import { readFileSync } from 'node:fs'

/** Returns the version of the gateway, from package.json. */
export const version = (): string => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  const { version }: { version: string } = JSON.parse(text)
  return version
}
