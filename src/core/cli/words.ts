/** Adds `serve` where no command is given. commander's own default would take a misspelled command for an argument. */
export function withDefaultCommand(args: readonly string[]): readonly string[] {
  const [first] = args
  const namesCommand = first !== undefined && (!first.startsWith('-') || /^(-h|--help|-V|--version)$/.test(first))
  return namesCommand ? args : ['serve', ...args]
}

/** A command that asks only the gateway, or asks nothing, waits for no feature to load. */
export const needsFeatures = (word: string | undefined): boolean =>
  word === undefined || !['status', 'hash-key', '-V', '--version'].includes(word)
