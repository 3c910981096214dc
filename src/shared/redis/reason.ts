/** Says what went wrong, in words of the system, the library or the server. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && code !== undefined ? code : error.message
}

/**
 * Takes out of a reason what the server may have repeated of what it was told: Redis lists the arguments of a command that it does not know, and
 * `AUTH` may be one (`rename-command`).
 */
export const withoutSecrets = (reason: string, url: string): string => {
  const { password } = new URL(url)
  const said = reason.replace(/,? with args beginning with:.*$/s, '')
  const secrets = [password, decodeURIComponent(password)].filter((secret) => secret !== '')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), said)
}
